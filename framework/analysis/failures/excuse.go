package failures

import (
	"fmt"
	"time"

	"github.com/holdfast-ha/holdfast/framework/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/prose"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// Excused are failures that the harness's noise explains as well as the system under test does. Of those that nothing in the
// Base attributes to the system: what was given up because its load worker stood still until then, or while the control lane
// failed, too; and whatever failed while a node was lost to a machine that was starved. Of the others: what such a node, or a
// proxy on such a machine, is the cause of.
type Excused struct {
	Total uint64
	Why   string // of one of them
}

// Blamed takes out what is excused when all requests were read. What is left is to blame on the system.
func (l *Failures) Blamed() (rest *Failures, x Excused) {
	rest = l.None()
	l.Shots.Each(func(kind attribution.Shot, at history.Offset, like attribution.Alike, a attribution.Attribution) {
		if why := Excuse(l.facts, kind, at, a, l.Noisy); why != "" {
			x.Add(like.N, why)
			return
		}
		rest.AddAlike(like)
	})
	if x.Total == 0 {
		return l, x
	}
	return rest, x
}

func (x *Excused) Add(n uint64, why string) {
	if x.Total += n; x.Why == "" || why < x.Why {
		x.Why = why
	}
}

// Excuse says why failures may be the harness's own noise; empty: they are not.
func Excuse(f *evidence.Run, kind attribution.Shot, at history.Offset, a attribution.Attribution, noisy map[history.Offset]bool) string {
	if a.OfSystem() {
		return excuseCause(f, at, a)
	}
	return ExcuseUnknown(f, kind, at, noisy)
}

// ExcuseUnknown is excuse for failures of which nothing is known but when and how.
func ExcuseUnknown(f *evidence.Run, kind attribution.Shot, at history.Offset, noisy map[history.Offset]bool) string {
	if loss := f.LostUnasked("", at, at, f.Inhabited); loss != nil {
		return f.SayLost(loss)
	}
	if !evidence.Unanswered(kind.Outcome) {
		return ""
	}
	for second := at / evidence.LoadWindow; second <= at/evidence.LoadWindow+history.Offset(kind.Lasted); second++ {
		if noisy[second] {
			return "the control lane, which leads to no system under test, failed too"
		}
	}
	if !kind.Noisy {
		return ""
	}
	if e := f.Loudest(at-evidence.LoadWindow, at+history.Offset(kind.Lasted+1)*evidence.LoadWindow); e != nil {
		return evidence.InWords(e)
	}
	return "the load worker stood still" // at a moment that is no longer known: see shots.coarsen
}

// excuseCause says why the cause of a failure may itself be the harness's noise: it takes processors from all of its machine.
func excuseCause(f *evidence.Run, at history.Offset, a attribution.Attribution) string {
	switch a.Cause {
	case attribution.CauseLateWithdrawal:
		return ExcuseProxies(f, at, a.Among)
	case attribution.CauseNodeLost, attribution.CauseNodeLostConnection, attribution.CauseOutageNodeLost, attribution.CauseDeadUpstream:
		if loss := f.LostUnasked(a.Node, at, at, evidence.AnyLoss); loss != nil && (a.Node != "" || !f.TookNodes(at)) {
			return f.SayLost(loss)
		}
	}
	return ""
}

// ExcuseProxies says why proxies may have gone on sending to one of some pods for longer than they do on a machine that is well:
// by no more than parts of the harness stood still meanwhile.
func ExcuseProxies(f *evidence.Run, at history.Offset, among []attribution.PodOn) string {
	late := evidence.Never
	for _, p := range among {
		if l := attribution.LivesOf(f).Named(p.Pod, at); l != nil {
			late = min(late, at-l.Withdrawn(at).At-attribution.ProxyLag)
		}
	}
	var stood time.Duration
	for _, samples := range f.Noise.Of {
		var sum time.Duration
		for _, e := range samples {
			if e.T >= at-attribution.ProxyLagAtMost && e.Noise.Since <= at {
				sum += e.Noise.Pause
			}
		}
		stood = max(stood, sum)
	}
	if e := f.Loudest(at-attribution.ProxyLagAtMost, at); e != nil && late <= stood {
		return "the proxies were late, on a machine without enough processor time: " + evidence.InWords(e)
	}
	return ""
}

// Doubt puts how many of all failures are excused, and why, before other doubts.
func (x Excused) Doubt(d verdict.Missing, all uint64) verdict.Missing {
	if x.Total == 0 {
		return d
	}
	return append(verdict.Missing{fmt.Sprintf("%d of %s may be the harness's own noise: %s", x.Total, prose.Count(all, "failure"), x.Why)}, d...)
}

// Numbers measures how many of those that failed are excused, where any are.
func (x Excused) Numbers(v *verdict.Verdict) {
	if x.Total > 0 {
		v.Measure("excused", float64(x.Total))
	}
}
