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

// Excused are failures that the harness's noise explains as well as the system under test does: requests that timed out because
// their load worker was paused until then, or while the control lane failed, too; all failures while a node was lost on a machine
// without enough processor time; and failures that such a node, or a proxy on such a machine, caused. Failures that the record
// attributes to the system are not excused by the first two.
type Excused struct {
	Total uint64
	Why   string // the reason for one of them
}

// Blamed separates the excused failures from those of the system under test. Call it after all requests were read.
func (l *Failures) Blamed() (rest *Failures, x Excused) {
	rest = l.None()
	l.Groups.Each(func(kind attribution.FailureGroup, at history.Offset, like attribution.SimilarFailures, a attribution.Attribution) {
		if why := Excuse(l.facts, kind, at, a, l.Noisy); why != "" {
			x.Add(like.N, why)
			return
		}
		rest.AddSimilar(like)
	})
	if x.Total == 0 {
		return l, x
	}
	return rest, x
}

// Add counts n excused failures. Of several reasons, the first in alphabetical order is kept.
func (x *Excused) Add(n uint64, why string) {
	if x.Total += n; x.Why == "" || why < x.Why {
		x.Why = why
	}
}

// Excuse is why failures may be the harness's own noise; empty: they are not.
func Excuse(f *evidence.Run, kind attribution.FailureGroup, at history.Offset, a attribution.Attribution, noisy map[history.Offset]bool) string {
	if a.OfSystem() {
		return excuseCause(f, at, a)
	}
	return ExcuseUnknown(f, kind, at, noisy)
}

// ExcuseUnknown is Excuse for failures of which only the time and the outcome are known.
func ExcuseUnknown(f *evidence.Run, kind attribution.FailureGroup, at history.Offset, noisy map[history.Offset]bool) string {
	if loss := f.UnexplainedLoss("", at, at, f.HadPod); loss != nil {
		return f.DescribeLoss(loss)
	}
	if !evidence.Unanswered(kind.Outcome) && !evidence.Slow(kind.Outcome) {
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
	if e := f.WorstPause(at-evidence.LoadWindow, at+history.Offset(kind.Lasted+1)*evidence.LoadWindow); e != nil {
		return evidence.DescribeNoise(e)
	}
	return "the load worker stood still" // at an unknown moment: see Groups.coarsen
}

// excuseCause is why the cause of a failure may itself be the harness's noise, which takes processor time from the whole machine.
func excuseCause(f *evidence.Run, at history.Offset, a attribution.Attribution) string {
	switch a.Cause {
	case attribution.CauseLateWithdrawal:
		return ExcuseProxies(f, at, a.Among)
	case attribution.CauseNodeLost, attribution.CauseNodeLostConnection, attribution.CauseOutageNodeLost, attribution.CauseDeadUpstream:
		if loss := f.UnexplainedLoss(a.Node, at, at, evidence.AnyLoss); loss != nil && (a.Node != "" || !f.TookNodes(at)) {
			return f.DescribeLoss(loss)
		}
	}
	return ""
}

// ExcuseProxies is why proxies may have sent requests to some pods for longer than usual: by no more than parts of the harness were
// paused in the meantime.
func ExcuseProxies(f *evidence.Run, at history.Offset, among []attribution.PodOn) string {
	late := evidence.Never
	for _, p := range among {
		if l := attribution.TimelinesOf(f).Named(p.Pod, at); l != nil {
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
	if e := f.WorstPause(at-attribution.ProxyLagAtMost, at); e != nil && late <= stood {
		return "the proxies were late, on a machine without enough processor time: " + evidence.DescribeNoise(e)
	}
	return ""
}

// Doubt puts the number of excused failures, and the reason, before other missing evidence.
func (x Excused) Doubt(d verdict.Missing, all uint64) verdict.Missing {
	if x.Total == 0 {
		return d
	}
	return append(verdict.Missing{fmt.Sprintf("%d of %s may be the harness's own noise: %s", x.Total, prose.Count(all, "failure"), x.Why)}, d...)
}

// Numbers adds the number of excused failures, if there are any.
func (x Excused) Numbers(v *verdict.Verdict) {
	if x.Total > 0 {
		v.Measure("excused", float64(x.Total))
	}
}
