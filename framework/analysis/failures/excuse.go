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

// Excused are failures that the harness's noise, or a busy machine, explains as well as the system under test does:
//   - requests that timed out while the machine that all nodes share was busy;
//   - failures that a lost node or a late proxy caused, if the machine lacked processor time;
//   - requests that timed out while their load worker was paused, or while the control lane failed, too;
//   - all failures while a node was lost, if the machine lacked processor time.
//
// The record may attribute the first two to the system, and not the others.
type Excused struct {
	Total uint64
	busy  uint64 // those that a busy machine explains
	why   string // the reason for one of them
}

// Blamed separates the excused failures from those of the system under test. Call it after all requests were read.
func (l *Failures) Blamed() (rest *Failures, x Excused) {
	rest = l.None()
	l.Groups.Each(func(kind attribution.FailureGroup, at history.Offset, like attribution.SimilarFailures, a attribution.Attribution) {
		if why := Excuse(l.facts, kind, at, a, l.Noisy); !why.None() {
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
func (x *Excused) Add(n uint64, why evidence.Reason) {
	if x.Total += n; x.why == "" || why.Words < x.why {
		x.why = why.Words
	}
	if why.Busy {
		x.busy += n
	}
}

// AddAll counts what others count.
func (x *Excused) AddAll(others Excused) {
	if others.Total > 0 {
		x.Add(others.Total, evidence.Reason{Words: others.why})
		x.busy += others.busy
	}
}

const busyUntilTheyEnded = "nearly all the time until they ended, a task waited for a processor of the machine that all nodes share"

// Excuse is why failures may be the harness's own noise, or that of a busy machine; the zero Reason: they are not.
func Excuse(f *evidence.Run, kind attribution.FailureGroup, at history.Offset, a attribution.Attribution, noisy map[history.Offset]bool) evidence.Reason {
	switch {
	case a.OfSystem() && kind.Busy:
		return evidence.Reason{Words: busyUntilTheyEnded, Busy: true}
	case a.OfSystem():
		return excuseCause(f, at, a)
	}
	return ExcuseUnknown(f, kind, at, noisy)
}

// ExcuseUnknown is Excuse for failures of which only the time and the outcome are known.
func ExcuseUnknown(f *evidence.Run, kind attribution.FailureGroup, at history.Offset, noisy map[history.Offset]bool) (why evidence.Reason) {
	if loss := f.UnexplainedLoss("", at, at, f.HadPod); loss != nil {
		return loss.Why()
	}
	if !evidence.Unanswered(kind.Outcome) && !evidence.Slow(kind.Outcome) {
		return why
	}
	switch {
	case kind.Noisy:
		return evidence.Reason{Words: pause(f, kind, at), Busy: kind.Busy}
	case kind.Busy:
		return evidence.Reason{Words: busyUntilTheyEnded, Busy: true}
	}
	for second := at / evidence.LoadWindow; second <= at/evidence.LoadWindow+history.Offset(kind.Lasted); second++ {
		if noisy[second] {
			return evidence.Reason{Words: "the control lane, which leads to no system under test, failed too"}
		}
	}
	return why
}

// pause describes the pause of the load worker that explains failures.
func pause(f *evidence.Run, kind attribution.FailureGroup, at history.Offset) string {
	if e := f.WorstPause(at-evidence.LoadWindow, at+history.Offset(kind.Lasted+1)*evidence.LoadWindow); e != nil {
		return evidence.DescribeNoise(e)
	}
	return "the load worker stood still" // at an unknown moment: see Groups.coarsen
}

// excuseCause is why the cause of a failure may itself be the harness's noise, which takes processor time from the whole machine.
func excuseCause(f *evidence.Run, at history.Offset, a attribution.Attribution) (why evidence.Reason) {
	switch a.Cause {
	case attribution.CauseLateWithdrawal:
		return ExcuseProxies(f, at, a.Among)
	case attribution.CauseNodeLost, attribution.CauseNodeLostConnection, attribution.CauseOutageNodeLost, attribution.CauseDeadUpstream:
		if loss := f.UnexplainedLoss(a.Node, at, at, evidence.AnyLoss); loss != nil && (a.Node != "" || !f.TookNodes(at)) {
			return loss.Why()
		}
	}
	return why
}

// ExcuseProxies is why proxies may have sent requests to some pods for longer than usual: the machine that all nodes share was busy in the
// meantime, or parts of the harness were paused for at least as long.
func ExcuseProxies(f *evidence.Run, at history.Offset, among []attribution.PodOn) evidence.Reason {
	var since history.Moment // the last withdrawal that the proxies had not noticed for too long
	for _, p := range among {
		if l := attribution.TimelinesOf(f).Named(p.Pod, at); l != nil {
			if w := l.Withdrawn(at); w.OK && at-w.At > attribution.ProxyLag && (!since.OK || w.At > since.At) {
				since = w
			}
		}
	}
	if !since.OK || at-since.At > attribution.ProxyLagAtMost {
		return evidence.Reason{}
	}
	why := f.WhyBusy(since.At, at)
	if !why.Busy {
		e := f.WorstPause(since.At, at)
		if e == nil || at-since.At-attribution.ProxyLag > stoodStill(f, since.At, at) {
			return evidence.Reason{}
		}
		why.Words = evidence.DescribeNoise(e)
	}
	why.Words = "the proxies were late, on a machine without enough processor time: " + why.Words
	return why
}

// stoodStill is how long a part of the harness was paused during a time, at most: that of the part for which it is longest.
func stoodStill(f *evidence.Run, from, to history.Offset) (longest time.Duration) {
	for _, samples := range f.Noise.Of {
		var sum time.Duration
		for _, e := range samples {
			if e.T >= from && e.Noise.Since <= to {
				sum += min(e.Noise.Pause, e.T-from)
			}
		}
		longest = max(longest, sum)
	}
	return longest
}

// Doubt puts the number of excused failures, and the reason, before other missing evidence.
func (x Excused) Doubt(d verdict.Missing, all uint64) verdict.Missing {
	if x.Total == 0 {
		return d
	}
	from := "be the harness's own noise"
	if x.busy == x.Total {
		from = "come from the busy machine"
	}
	return append(verdict.Missing{fmt.Sprintf("%d of %s may %s: %s", x.Total, prose.Count(all, "failure"), from, x.why)}, d...)
}

// Numbers adds the number of excused failures, if there are any.
func (x Excused) Numbers(v *verdict.Verdict) {
	if x.Total > 0 {
		v.Measure("excused", float64(x.Total))
	}
}

// RunAgain adds the number of those that a busy machine explains, if there are any, so that the scenario runs again.
func (x Excused) RunAgain(v *verdict.Verdict) {
	if x.busy > 0 {
		v.Measure(evidence.BusyNumber, float64(x.busy))
	}
}
