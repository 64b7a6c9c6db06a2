package invariant

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// lostUnasked finds the node of a kind that was lost without a fault, while the machine was starved, and not back before a moment;
// nil if there is none.
func (f *facts) lostUnasked(name string, from, to history.Offset, like func(*history.NodeLoss) bool) *history.NodeLoss {
	grace := f.run.Header.Cluster.Timings.NodeMonitorGrace + restless
	for i := range f.noise.unasked {
		loss := &f.noise.unasked[i]
		back := never
		if loss.Back.OK {
			back = loss.Back.At + PropagationSlack
		}
		if (name == "" || loss.Name == name) && to >= loss.At-grace && from <= back && like(loss) {
			return loss
		}
	}
	return nil
}

// inhabited tells whether any pod of the scenario was on a node when it was lost, be it a load worker: else no request led there.
func (f *facts) inhabited(loss *history.NodeLoss) bool {
	is, known := f.noise.inhabited[loss]
	if !known {
		for _, pod := range f.run.StateAt(loss.At).Pods {
			is = is || pod.Node == loss.Name && !pod.Ended()
		}
		f.noise.inhabited[loss] = is
	}
	return is
}

// excused are failures that the harness's noise explains as well as the system under test does. Of those that nothing in the
// record attributes to the system: what was given up because its load worker stood still until then, or while the control lane
// failed, too; and whatever failed while a node was lost to a machine that was starved. Of the others: what such a node, or a
// proxy on such a machine, is the cause of.
type excused struct {
	total uint64
	why   string // of one of them
}

// promptly is how long an answer takes that is there at once, to a worker on two busy cores: in runs that held beside compilers,
// requests were sent up to 90 ms late.
const promptly = 100 * time.Millisecond

// explains tells whether the load worker's own pause explains that it gave a request up: but for the time that an answer takes,
// it stood still from the sending to the giving up. Before and after that it ran, and would have taken an answer that was there;
// so shorter pauses do not add up, and what a quota or a hypervisor takes from it counts as far as it shows as a pause. What the
// system said in so many words (refused, reset, a wrong answer) no pause of a client's makes it say.
func (n *noise) explains(r *history.Request) bool {
	if !givenUp(r.Outcome) {
		return false
	}
	samples, waited := n.of[r.Worker], r.Done-r.Sent
	first, _ := slices.BinarySearchFunc(samples, r.Sent, func(e history.Event, at history.Offset) int { return cmp.Compare(e.T, at) })
	for _, e := range samples[first:] {
		if e.Noise.Since-e.Noise.Pause > r.Done {
			break
		}
		end := min(max(r.Done, e.Noise.Since), e.T) // of the pause: it was noticed at some time between the two
		if still := min(end, r.Done) - max(end-e.Noise.Pause, r.Sent); still > 0 && waited-still <= n.answer(r) {
			return true
		}
	}
	return false
}

// answer is how long an answer to a request takes, at the most half the time after which it was given up.
func (n *noise) answer(r *history.Request) time.Duration {
	takes := promptly
	if took := n.took[r.Lane]; took != nil && r.Outcome != history.TimeoutConnect {
		takes = max(takes, took.quantile(0.999))
	}
	return min(takes, (r.Done-r.Sent)/2)
}

// givenUp tells whether the client's patience ended a request.
func givenUp(o history.Outcome) bool {
	return o == history.TimeoutConnect || o == history.TimeoutResponse || o == history.Stall
}

// unanswered tells whether a request failed without a word from anybody.
func unanswered(o history.Outcome) bool { return givenUp(o) || o == history.Other }

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
		if l := f.theLives().named(p.pod, at); l != nil {
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

func anyLoss(*history.NodeLoss) bool { return true }

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
