package invariant_test

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// TestEvidence spoils one thing at a time in a record that is Held, and says what must be missed.
func TestEvidence(t *testing.T) {
	never := func(stage history.FaultStage) *ht.Builder { return setStage(ht.Healthy(), stage, -1) }
	at := func(stage history.FaultStage, at history.Offset) *ht.Builder {
		return setStage(ht.Healthy(), stage, at)
	}
	totals := func(lane history.Lane, planned, sent, unsent uint64) *ht.Builder {
		b := ht.Healthy().WithoutTotals()
		b.Event(history.Event{T: ht.DrainedAt, Clock: &history.Clock{Worker: ht.Worker, Uncertainty: ms}})
		load := map[history.Lane]*history.LoadTotals{}
		for _, l := range []history.Lane{history.LaneFresh, history.LaneReused} {
			load[l] = &history.LoadTotals{Worker: ht.Worker, Lane: l, Planned: 6000, Sent: 6000}
			b.Event(history.Event{T: ht.DrainedAt, Load: load[l]})
		}
		if lane != "" {
			load[lane].Planned, load[lane].Sent, load[lane].Unsent = planned, sent, unsent
		}
		return b
	}
	dropLane := func(e history.Event) bool { return e.Load != nil && e.Load.Lane == history.LaneReused }
	for _, s := range []struct {
		name string
		run  *ht.Builder
		want string // empty: Held
	}{
		{"totals written by hand", totals("", 0, 0, 0), ""},

		{"no steady phase", dropPhase(history.Steady), "the record has no phase steady (and 4 more reasons)"},
		{"no disturbed phase", dropPhase(history.Disturbed), "the record has no phase disturbed (and 1 more reason)"},
		{"no recovered phase", dropPhase(history.Recovered), "the record has no phase recovered"},
		{"no drained phase", dropPhase(history.Drained), "the record has no phase drained"},
		{"phases in the wrong order", ht.Healthy().EditEvents(func(e *history.Event) {
			if e.Phase != nil && e.Phase.Name == history.Recovered {
				e.T = 12 * second
			}
		}), "phase recovered begins at 12s, before the phase that precedes it"},
		{"trouble", ht.Healthy().Trouble(20*second, "the disk is full"), "trouble at 20s: the disk is full"},
		{"a gap", ht.Healthy().Gap("pods", 18*second, 19*second), "the watch of pods had a gap from 18s to 19s: the watch broke off"},
		{"a gap that begins under load", ht.Healthy().Gap("nodes", 39*second, 45*second),
			"the watch of nodes had a gap from 39s to 45s: the watch broke off"},
		{"a gap before load", ht.Healthy().Gap("pods", 4*second, 5*second), ""},
		{"a gap in what no promise reads", ht.Healthy().Gap("events", 18*second, 19*second), ""},

		{"no fault", ht.Healthy().DropEvents(func(e history.Event) bool { return e.Fault != nil }), "no fault was injected"},
		{"not seen", never(history.Seen), "drain one worker was never seen in effect"},
		{"not healed", never(history.Healed), "drain one worker was never seen to be reverted"},
		{"not injected", never(history.Injecting), "drain one worker has no start in the record"},
		{"a fault that failed", ht.Healthy().Fault(20*second, history.FaultMark{
			Name: "drain one worker", Stage: history.Seen, Error: "w1 does not answer",
		}), "drain one worker went wrong: seen: w1 does not answer"},
		{"seen before it was injected", at(history.Seen, 15*second),
			"drain one worker was seen at 15s, before it was applied at 15.5s"},
		{"seen when it was being undone", at(history.Seen, 30500*ms),
			"drain one worker was seen at 30.5s, after its revert began at 30s"},
		{"healed before its undo", at(history.Healed, 20*second), "drain one worker ended too early: at 20s, before its revert began"},
		{"healed before its undo, and again", ht.Healthy().Fault(18*second, history.FaultMark{
			Name: "drain one worker", Stage: history.Healed,
		}), "drain one worker ended too early: at 18s, before its revert began"},
		{"healed with no undo", never(history.Healing), "drain one worker ended by itself at 31s: the record has no revert (and 1 more reason)"},
		{"the node came back by itself", killed().Node(25*second, ht.ReadyNode("w3", "b")),
			"kill one worker ended too early: w3 was back at 25s, before its revert began at 30s"},
		{"the node was uncordoned by someone", ht.Healthy().Node(25*second, ht.ReadyNode("w1", "a")),
			"drain one worker ended too early: w1 was back at 25s, before its revert began at 30s"},
		{"nothing was disrupted", ht.Healthy().DropEvents(func(e history.Event) bool {
			return e.Pod != nil && (e.Pod.Deleting || e.Pod.Change == history.Deleted)
		}), "nothing was disrupted: no fault ended a pod or took a node before its revert began"},
		{"only a pod of no workload and no Service ended", ht.Healthy().EditEvents(func(e *history.Event) {
			switch {
			case e.Pod != nil && e.Pod.Name == ht.Victim:
				e.Pod.Labels = map[string]string{"app.kubernetes.io/name": "other"}
			case e.Slice != nil:
				e.Slice.Endpoints = slices.DeleteFunc(slices.Clone(e.Slice.Endpoints), func(end history.Endpoint) bool { return end.Pod == ht.Victim })
			}
		}), "nothing was disrupted: no fault ended a pod or took a node before its revert began"},

		{"planned is not sent and unsent", totals(history.LaneFresh, 6000, 5999, 0),
			"worker-0 on fresh planned 6000 requests, sent 5999 and did not send 0"},
		{"a row is missing", totals(history.LaneFresh, 6001, 6001, 0),
			"worker-0 on fresh planned 6001 requests, but the record has 6000"},
		{"unsent is not what the rows say", totals(history.LaneFresh, 6000, 5999, 1),
			"worker-0 on fresh says it did not send 1 requests, but the record has 0 unsent requests"},
		{"a row is missing, another is there twice", ht.Healthy().EditRequests(func(r *history.Request) {
			if r.Seq == 4000 {
				r.Seq = 4001
			}
		}), "worker-0 on fresh has duplicate or misnumbered requests in the record (and 1 more reason)"},
		{"no totals", ht.Healthy().WithoutTotals(),
			"worker-0 has no totals for lane fresh in the record (and 4 more reasons)"},
		{"totals of one lane only", totals("", 0, 0, 0).DropEvents(dropLane),
			"worker-0 has no totals for lane reused in the record (and 1 more reason)"},
		{"a planned lane that never was", ht.Healthy().Header(func(h *history.Header) {
			h.Plan.Lanes = append(h.Plan.Lanes, history.LanePlan{Lane: "stream", RatePerSecond: 20})
		}), "no worker has totals for lane stream, which was planned (and 1 more reason)"},
		{"no clock", totals("", 0, 0, 0).DropEvents(func(e history.Event) bool { return e.Clock != nil }),
			"the clock of worker-0 was never compared with the run's"},
		{"a clock that is off", ht.Healthy().Event(history.Event{T: ht.DrainedAt, Clock: &history.Clock{
			Worker: ht.Worker, Uncertainty: 101 * ms,
		}}), "the clock of worker-0 may be off by 101ms, and at most 100ms is precise enough to tell phases apart"},

		{"unsent in one second", ht.Healthy().Fail(history.LaneReused, 17*second, 17055*ms, history.Unsent),
			"only 189 of 200 requests due on reused within 1s from 17s were sent"},
		{"a few unsent", ht.Healthy().Fail(history.LaneReused, 17*second, 17050*ms, history.Unsent), ""},
		{"unsent in many seconds", ht.Healthy().Fail(history.LaneFresh, 17*second, 20*second, history.Unsent),
			"only 0 of 200 requests due on fresh within 1s from 17s were sent (and 3 more reasons)"},
		{"the control lane starved", ht.Healthy().Load(history.LaneControl, 20, ht.SteadyAt, ht.DrainedAt).
			Fail(history.LaneControl, 17*second, 18*second, history.Unsent),
			"only 0 of 20 requests due on control within 1s from 17s were sent"},
		{"less than planned", ht.Healthy().Header(func(h *history.Header) { h.Plan.Lanes[0].RatePerSecond = 212 }),
			"fresh was planned at 212 requests a second, but had fewer due in 30 windows of 1s, the first from 10s"},
		{"a schedule that began late", shift(ht.Healthy(), 3*ms), ""},
		{"a load that began late", ht.Healthy().DropRequests(func(r history.Request) bool { return r.Lane == history.LaneFresh }).
			Load(history.LaneFresh, ht.Rate, 12*second, ht.DrainedAt),
			"fresh was planned at 200 requests a second, but had fewer due in 2 windows of 1s, the first from 10s"},
	} {
		t.Run(s.name, func(t *testing.T) {
			got := judge.Check(s.run.Run(), invariant.NoFailedRequests{})
			if s.want == "" {
				if got.Outcome != verdict.Held {
					t.Errorf("%s: %s, want held", got.Outcome, got.Seen)
				}
				return
			}
			if got.Outcome != verdict.Unknown || got.Seen != "no verdict: "+s.want {
				t.Errorf("%s: %s\nwant unknown: no verdict: %s\nevidence: %q", got.Outcome, got.Seen, s.want, got.Evidence)
			}
		})
	}
}

func dropPhase(name history.PhaseName) *ht.Builder {
	return ht.Healthy().DropEvents(func(e history.Event) bool { return e.Phase != nil && e.Phase.Name == name })
}

// shift moves every request by d, as a schedule that did not begin with the phase.
func shift(b *ht.Builder, d time.Duration) *ht.Builder {
	return b.EditRequests(func(r *history.Request) { r.Due, r.Sent, r.Done = r.Due+d, r.Sent+d, r.Done+d })
}
