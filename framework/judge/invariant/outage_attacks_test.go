package invariant_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// In the golden run kill-one-worker the node's pod answered last at 6.727 s, a witness saw the node dead at 9.565 s, its endpoint was
// gone at 14.95 s, and the fault began to be reverted at 27.566 s. 13 s are predicted.
const goldenKill = "kill-one-worker"

// seenAt moves the moment at which a witness saw the fault bite.
func seenAt(run history.Run, at history.Offset) history.Run {
	run.Events = slices.Clone(run.Events)
	for i, e := range run.Events {
		if e.Fault != nil && e.Fault.Stage == history.Seen {
			run.Events[i].T = at
		}
	}
	slices.SortStableFunc(run.Events, func(a, b history.Event) int { return int(a.T - b.T) })
	return run
}

// timedOut lets one of six new connections time out between two moments.
func timedOut(run history.Run, from, to history.Offset) history.Run {
	return withRequests(run, func(r *history.Request) {
		if r.Lane == history.LaneFresh && r.Outcome == history.OK && r.Sent >= from && r.Sent < to && r.Seq%6 == 0 {
			r.Outcome, r.Status, r.Done, r.Pod, r.Node, r.Zone, r.Revision = history.TimeoutConnect, 0, r.Sent+second, "", "", "", ""
		}
	})
}

// A witness that looks late does not make failures allowed for longer: the time is counted from the victims' last answer.
func TestALateWitnessAllowsNothing(t *testing.T) {
	_, run := unpackGolden(t, goldenKill)
	p := invariant.FailuresEndWithin{}
	outcome(t, judge.Check(seenAt(run, 15900*ms), p), verdict.Held)
	late := judge.Check(timedOut(seenAt(run, 15900*ms), 15*second, 28800*ms), p)
	outcome(t, late, verdict.Violated)
	if late.At < 19700*ms || late.At > 20*second {
		t.Errorf("the first that was too late is that at %s", late.At)
	}
}

// When nobody heard a victim since the fault began, and failures say nothing of it either, a witness that took long leaves open when
// the failures had to end.
func TestALateWitnessOfASilentDeath(t *testing.T) {
	b := setStage(astray(killed(), 22900*ms, 22905*ms, history.Refused), history.Seen, 22500*ms).EditRequests(func(r *history.Request) {
		if r.Node == "w3" && r.Due >= killAt {
			r.Pod, r.Node = "backend-4", "w4"
		}
	})
	check(t, b.Run(), invariant.FailuresEndWithin{Limit: 8 * second}, verdict.Unknown, 0)
}

// A pod that no fault touched lets its clients down for as long as a dead node is not noticed: its failures are not among the
// victims', though they are fewer than the victims' share allows.
func TestInnocentsHideInNoShare(t *testing.T) {
	outage := func() *ht.Builder { return failVictims(killed(), history.LaneFresh, 15600*ms, 20900*ms) }
	at := func(r *history.Request) bool { return r.Pod == "backend-1" && r.Sent >= 16*second && r.Sent < 24900*ms }
	for name, s := range map[string]func(*history.Request){
		"it resets its kept connections": func(r *history.Request) {
			if r.Lane == history.LaneReused && at(r) {
				r.Outcome, r.Inferred = history.Reset, true
			}
		},
		"it closes them": func(r *history.Request) {
			if r.Lane == history.LaneReused && at(r) {
				r.Outcome, r.Inferred = history.ClosedEarly, true
			}
		},
		"it leaves them without an answer": func(r *history.Request) {
			if r.Lane == history.LaneReused && at(r) {
				r.Outcome, r.Inferred, r.Done = history.TimeoutResponse, true, r.Sent+3*second
			}
		},
		"it refuses new connections at its own address": func(r *history.Request) {
			if r.Lane == history.LaneFresh && at(r) {
				r.Outcome, r.Pod, r.Node = history.Refused, "", ""
			}
		},
		"it has a victim's name, on another node": func(r *history.Request) {
			if r.Lane == history.LaneReused && at(r) {
				r.Outcome, r.Inferred, r.Pod = history.Reset, true, "backend-3"
			}
		},
		"it failed before the fault that took it began": func(r *history.Request) {
			if r.Lane == history.LaneReused && r.Node == "w5" && r.Sent >= 16*second && r.Sent < 18*second {
				r.Outcome, r.Inferred = history.Reset, true
			}
		},
	} {
		b := outage()
		if name == "it failed before the fault that took it began" {
			another(b, 20*second, 20100*ms, 31*second, 32*second)
		}
		outcome(t, judge.Check(b.EditRequests(s).Run(), invariant.FailuresEndWithin{}), verdict.Violated, name)
	}
}

// A pod that is offered before it listens is the cause that is found for refused connections. It is not on the node that died.
func TestACauseThatNoFaultPlanted(t *testing.T) {
	young := ht.ReadyPod("backend-9", "w4", history.Added)
	young.IP = "10.244.9.9"
	slice := sliceOf(1, 2, 4, 5, 6)
	slice.Endpoints = append(slice.Endpoints, history.Endpoint{IP: young.IP, Pod: young.Name, Node: young.Node, Ready: true, Serving: true})
	b := pods(astray(killed().Pod(22*second, young).Slice(22*second, slice), 22500*ms, 22600*ms, history.Refused), history.Lifecycle{})
	v := judge.Check(b.Run(), invariant.FailuresEndWithin{})
	outcome(t, v, verdict.Violated)
	if !strings.Contains(v.Evidence[1], "(ready-too-early): backend-9 on w4") {
		t.Errorf("%q", v.Evidence)
	}
}

// Once no endpoint leads to a victim, what fails of new connections is not the victims', however few they are, and however long the
// predicted time goes on.
func TestTheRestOfThePredictedTime(t *testing.T) {
	_, run := unpackGolden(t, goldenKill)
	p := invariant.FailuresEndWithin{}
	outcome(t, judge.Check(timedOut(run, 14900*ms, 17900*ms), p), verdict.Held) // proxies may follow that late
	v := judge.Check(timedOut(run, 14900*ms, 19700*ms), p)
	outcome(t, v, verdict.Violated)
	blind := run
	blind.Events = append(slices.Clone(run.Events), history.Event{T: 19*second + 500*ms, Gap: &history.Gap{
		What: "endpointslices", Since: 17 * second, Why: "it broke off", Bridged: true,
	}})
	slices.SortStableFunc(blind.Events, func(a, b history.Event) int { return int(a.T - b.T) })
	outcome(t, judge.Check(timedOut(blind, 14900*ms, 19700*ms), p), verdict.Unknown)
}

// Few new connections can all have met a victim by chance. That is no test of the victims' share, and is said to be none; what was
// open before is judged by whom it leads to.
func TestAShareOfFewConnectionsIsNotTested(t *testing.T) {
	_, run := unpackGolden(t, goldenKill)
	v := judge.Check(run, invariant.FailuresEndWithin{})
	outcome(t, v, verdict.Held)
	numbers(t, v, map[string]float64{"shareTested.fresh": 1, "shareTested.reused": 0})
	if share, measured := v.Numbers["allowedShare.reused"]; measured {
		t.Errorf("it allows %v of those on reused", share)
	}
	const want = "2 of 2 requests that opened a connection (100 %) failed on reused during the outage of kill one worker, " +
		"and 1 on connections to its victims that were open before: too few to test the victims' share"
	if !slices.Contains(v.Evidence, want) {
		t.Errorf("%q lacks %q", v.Evidence, want)
	}

	// Of a dozen, chance no longer sends all to one pod of six.
	dozen := withRequests(run, func(r *history.Request) {
		if r.Lane == history.LaneReused && r.Seq >= 323 && r.Seq < 333 {
			r.Outcome, r.Status, r.Reused, r.Pod, r.Node = history.Refused, 0, false, "", ""
		}
	})
	outcome(t, judge.Check(dozen, invariant.FailuresEndWithin{}), verdict.Violated)
}

// For 200 ms nobody answers, in the middle of an outage in which hardly anybody fails otherwise. Over the whole of it that is less
// than the victims' share.
func TestAShareIsNoAllowanceForABurst(t *testing.T) {
	outage := func() *ht.Builder { return failVictims(killed(), history.LaneFresh, 15600*ms, 20900*ms) }
	p := invariant.FailuresEndWithin{}
	outcome(t, judge.Check(outage().Run(), p), verdict.Held)
	all := astray(outage(), 18*second, 18200*ms, history.Refused)
	v := judge.Check(all.Run(), p)
	outcome(t, v, verdict.Violated)
	if v.At < 17700*ms || v.At > 18200*ms {
		t.Errorf("the burst is said to be at %s", v.At)
	}
	if n := v.Numbers["failedSinceFault.fresh"]; n == 0 {
		t.Error("the verdict does not say how many requests failed on fresh after the fault began")
	}
	few := astray(outage(), 18*second, 18015*ms, history.Refused) // three in a row: chance does that
	outcome(t, judge.Check(few.Run(), p), verdict.Held)
	_, real := unpackGolden(t, goldenKill)
	outcome(t, judge.Check(real, p), verdict.Held)
}
