package invariant_test

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
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
	all := invariant.NoFailedRequests{}
	checkAll(t, []sample{
		{"totals written by hand", totals("", 0, 0, 0), all, verdict.Held, 0},

		{"no steady phase", dropPhase(history.Steady), all, verdict.Unknown, 0},
		{"no disturbed phase", dropPhase(history.Disturbed), all, verdict.Unknown, 0},
		{"a gap that begins under load", ht.Healthy().Gap("nodes", 39*second, 45*second), all, verdict.Unknown, 0},
		{"seen when it was being undone", at(history.Seen, 30500*ms), all, verdict.Unknown, 0},
		{"healed before its undo, and again", ht.Healthy().Fault(18*second, history.FaultMark{Name: "drain one worker", Stage: history.Healed}), all, verdict.Unknown, 0},
		{"healed with no undo", never(history.Healing), all, verdict.Unknown, 0},
		{"the node came back by itself", killed().Node(25*second, ht.ReadyNode("w3", "b")), all, verdict.Unknown, 0},
		{"the node was uncordoned by someone", ht.Healthy().Node(25*second, ht.ReadyNode("w1", "a")), all, verdict.Unknown, 0},
		{"nothing was disrupted", ht.Healthy().DropEvents(func(e history.Event) bool {
			return e.Pod != nil && (e.Pod.Deleting || e.Pod.Change == history.Deleted)
		}), all, verdict.Unknown, 0},
		{"only a pod of no workload and no Service ended", ht.Healthy().EditEvents(func(e *history.Event) {
			switch {
			case e.Pod != nil && e.Pod.Name == ht.Victim:
				e.Pod.Labels = map[string]string{"app.kubernetes.io/name": "other"}
			case e.Slice != nil:
				e.Slice.Endpoints = slices.DeleteFunc(slices.Clone(e.Slice.Endpoints), func(end history.Endpoint) bool { return end.Pod == ht.Victim })
			}
		}), all, verdict.Unknown, 0},

		{"planned is not sent and unsent", totals(history.LaneFresh, 6000, 5999, 0), all, verdict.Unknown, 0},
		{"unsent is not what the rows say", totals(history.LaneFresh, 6000, 5999, 1), all, verdict.Unknown, 0},
		{"no totals", ht.Healthy().WithoutTotals(), all, verdict.Unknown, 0},
		{"totals of one lane only", totals("", 0, 0, 0).DropEvents(dropLane), all, verdict.Unknown, 0},
		{"a planned lane that never was", ht.Healthy().Header(func(h *history.Header) {
			h.Plan.Lanes = append(h.Plan.Lanes, history.LanePlan{Lane: "stream", RatePerSecond: 20})
		}), all, verdict.Unknown, 0},
		{"unsent in one second", ht.Healthy().Fail(history.LaneReused, 17*second, 17055*ms, history.Unsent), all, verdict.Unknown, 0},
		{"a few unsent", ht.Healthy().Fail(history.LaneReused, 17*second, 17050*ms, history.Unsent), all, verdict.Held, 0},
		{"unsent in many seconds", ht.Healthy().Fail(history.LaneFresh, 17*second, 20*second, history.Unsent), all, verdict.Unknown, 0},
		{"the control lane starved", ht.Healthy().Load(history.LaneControl, 20, ht.SteadyAt, ht.DrainedAt).
			Fail(history.LaneControl, 17*second, 18*second, history.Unsent), all, verdict.Unknown, 0},
		{"less than planned", ht.Healthy().Header(func(h *history.Header) { h.Plan.Lanes[0].RatePerSecond = 212 }), all, verdict.Unknown, 0},
		{"a schedule that began late", shift(ht.Healthy(), 3*ms), all, verdict.Held, 0},
		{"a load that began late", ht.Healthy().DropRequests(func(r history.Request) bool { return r.Lane == history.LaneFresh }).
			Load(history.LaneFresh, ht.Rate, 12*second, ht.DrainedAt), all, verdict.Unknown, 0},
	})
}

func dropPhase(name history.PhaseName) *ht.Builder {
	return ht.Healthy().DropEvents(func(e history.Event) bool { return e.Phase != nil && e.Phase.Name == name })
}

// shift moves every request by d, as a schedule that did not begin with the phase.
func shift(b *ht.Builder, d time.Duration) *ht.Builder {
	return b.EditRequests(func(r *history.Request) { r.Due, r.Sent, r.Done = r.Due+d, r.Sent+d, r.Done+d })
}
