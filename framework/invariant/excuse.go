package invariant

import (
	"fmt"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// excused are failures that the harness's noise explains as well as the system under test does. Of those that nothing in the
// record attributes to the system: what was given up because its load worker stood still until then, or while the control lane
// failed, too; and whatever failed while a node was lost to a machine that was starved. Of the others: what such a node, or a
// proxy on such a machine, is the cause of.
type excused struct {
	total uint64
	why   string // of one of them
}

// blamed takes out what is excused when all requests were read. What is left is to blame on the system.
func (l *failures) blamed() (rest *failures, x excused) {
	rest = l.none()
	l.shots.each(func(kind shot, at history.Offset, like alike, a Attribution) {
		if why := l.facts.excuse(kind, at, a, l.noisy); why != "" {
			x.add(like.n, why)
			return
		}
		rest.addAlike(like)
	})
	if x.total == 0 {
		return l, x
	}
	return rest, x
}

func (x *excused) add(n uint64, why string) {
	if x.total += n; x.why == "" || why < x.why {
		x.why = why
	}
}

// excuse says why failures may be the harness's own noise; empty: they are not.
func (f *facts) excuse(kind shot, at history.Offset, a Attribution, noisy map[history.Offset]bool) string {
	if a.OfSystem() {
		return f.excuseCause(at, a)
	}
	return f.excuseUnknown(kind, at, noisy)
}

// excuseUnknown is excuse for failures of which nothing is known but when and how.
func (f *facts) excuseUnknown(kind shot, at history.Offset, noisy map[history.Offset]bool) string {
	if loss := f.lostUnasked("", at, at, f.inhabited); loss != nil {
		return f.sayLost(loss)
	}
	if !unanswered(kind.outcome) {
		return ""
	}
	for second := at / loadWindow; second <= at/loadWindow+history.Offset(kind.lasted); second++ {
		if noisy[second] {
			return "the control lane, which leads to no system under test, failed too"
		}
	}
	if !kind.noisy {
		return ""
	}
	if e := f.loudest(at-loadWindow, at+history.Offset(kind.lasted+1)*loadWindow); e != nil {
		return inWords(e)
	}
	return "the load worker stood still" // at a moment that is no longer known: see shots.coarsen
}

// excuseCause says why the cause of a failure may itself be the harness's noise: it takes processors from all of its machine.
func (f *facts) excuseCause(at history.Offset, a Attribution) string {
	switch a.Cause {
	case CauseLateWithdrawal:
		return f.excuseProxies(at, a.among)
	case CauseNodeLost, CauseNodeLostConnection, CauseOutageNodeLost, CauseDeadUpstream:
		if loss := f.lostUnasked(a.Node, at, at, anyLoss); loss != nil && (a.Node != "" || !f.tookNodes(at)) {
			return f.sayLost(loss)
		}
	}
	return ""
}

// excuseProxies says why proxies may have gone on sending to one of some pods for longer than they do on a machine that is well:
// by no more than parts of the harness stood still meanwhile.
func (f *facts) excuseProxies(at history.Offset, among []podOn) string {
	late := never
	for _, p := range among {
		if l := livesOf(f).named(p.pod, at); l != nil {
			late = min(late, at-l.withdrawn(at).At-proxyLag)
		}
	}
	var stood time.Duration
	for _, samples := range f.noise.of {
		var sum time.Duration
		for _, e := range samples {
			if e.T >= at-proxyLagAtMost && e.Noise.Since <= at {
				sum += e.Noise.Pause
			}
		}
		stood = max(stood, sum)
	}
	if e := f.loudest(at-proxyLagAtMost, at); e != nil && late <= stood {
		return "the proxies were late, on a machine that was starved: " + inWords(e)
	}
	return ""
}

// doubt puts how many of all failures are excused, and why, before other doubts.
func (x excused) doubt(d doubts, all uint64) doubts {
	if x.total == 0 {
		return d
	}
	return append(doubts{fmt.Sprintf("%d of %s may be the harness's own noise: %s", x.total, count(all, "failure"), x.why)}, d...)
}

// numbers measures how many of those that failed are excused, where any are.
func (x excused) numbers(v *Verdict) {
	if x.total > 0 {
		v.measure("excused", float64(x.total))
	}
}
