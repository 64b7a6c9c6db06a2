package invariant

import (
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// lostUnasked finds the node that was lost without a fault, while the machine was starved, and not back before a moment; nil
// if there is none.
func (f *facts) lostUnasked(name string, from, to history.Offset) *history.NodeLoss {
	grace := f.run.Header.Cluster.Timings.NodeMonitorGrace + restless
	for i := range f.noise.unasked {
		loss := &f.noise.unasked[i]
		back := never
		if loss.Back.OK {
			back = loss.Back.At + PropagationSlack
		}
		if (name == "" || loss.Name == name) && to >= loss.At-grace && from <= back {
			return loss
		}
	}
	return nil
}

// excused are failures that the harness's noise explains as well as the system under test does. Of those that nothing in the
// record attributes to the system: what nobody answered while its load worker stood still, or the control lane failed, too;
// and whatever failed while a node was lost to a machine that was starved. Of the others: what such a node, or a proxy on such
// a machine, is the cause of.
type excused struct {
	total uint64
	why   string // of one of them
}

// explains tells whether the load worker's own noise explains that a request failed: one that stood still gives up on answers
// that were there. What the system said in so many words (refused, reset, a wrong answer) no pause of a client's makes it say.
func (n *noise) explains(r *history.Request) bool {
	return unanswered(r.Outcome) && n.during(r.Worker, r.Due, r.Done) != nil
}

// unanswered tells whether a request failed without a word from anybody.
func unanswered(o history.Outcome) bool {
	switch o {
	case history.TimeoutConnect, history.TimeoutResponse, history.Stall, history.Other:
		return true
	}
	return false
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
	if loss := f.lostUnasked("", at, at); loss != nil {
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
		return f.excuseProxies(at)
	case CauseNodeLost, CauseNodeLostConnection, CauseOutageNodeLost, CauseDeadUpstream:
		if loss := f.lostUnasked(a.Node, at, at); loss != nil && (a.Node != "" || !f.tookNodes(at)) {
			return f.sayLost(loss)
		}
	}
	return ""
}

// excuseProxies says why proxies may have followed later than they do on a machine that is well.
func (f *facts) excuseProxies(at history.Offset) string {
	if e := f.loudest(at-proxyLagAtMost, at); e != nil {
		return "the proxies were late, on a machine that was starved: " + inWords(e)
	}
	return ""
}

// tookNodes tells whether a fault had taken nodes by a moment.
func (f *facts) tookNodes(at history.Offset) bool {
	return slices.ContainsFunc(f.faults, func(fault history.FaultLife) bool { return len(fault.Nodes) > 0 && fault.Injecting.At <= at })
}

func (f *facts) sayLost(loss *history.NodeLoss) string {
	return fmt.Sprintf("%s was lost at %s without a fault, on a machine that was starved: %s", loss.Name, moment(loss.At), f.starved(loss))
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
