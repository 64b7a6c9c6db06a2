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

// heard adds a sample of noise to a record.
func heard(b *ht.Builder, at history.Offset, n history.Noise) *ht.Builder {
	n.Since = at - time.Second
	return b.Event(history.Event{T: at, Noise: &n})
}

// givenUp is a record in which the requests of 20 s to 20.1 s on fresh fail after a second, at nobody knows whom.
func givenUp(outcome history.Outcome) *ht.Builder {
	return ht.Healthy().Fail(history.LaneFresh, 20*second, 20100*ms, outcome).EditRequests(func(r *history.Request) {
		if r.Outcome.Failed() {
			r.Done, r.Pod, r.Node, r.Zone, r.Revision, r.Inferred = r.Sent+second, "", "", "", "", false
		}
	})
}

// hanging is a record in which the requests of a time on fresh get no answer.
func hanging(from, to, hang history.Offset) *ht.Builder {
	return astray(ht.Healthy(), from, to, history.TimeoutResponse).EditRequests(func(r *history.Request) {
		if r.Outcome.Failed() {
			r.Done = r.Sent + hang
		}
	})
}

// lostUnasked is a record in which w5, which no fault touches, is not ready from 20 s to 25 s.
func lostUnasked(b *ht.Builder) *ht.Builder {
	lost, back := ht.ReadyNode("w5", "c"), ht.ReadyNode("w5", "c")
	lost.Change, lost.Ready, back.Change = history.Modified, "Unknown", history.Modified
	return b.Node(20*second, lost).Node(25*second, back).Header(func(h *history.Header) {
		h.Cluster.Timings.NodeMonitorGrace = 4 * second
	})
}

// besideControl adds a control lane, of which some of the 20 requests that are due in the second from 36 s on fail.
func besideControl(b *ht.Builder, fail int) *ht.Builder {
	return b.Header(func(h *history.Header) {
		h.Plan.Lanes = append(slices.Clone(h.Plan.Lanes), history.LanePlan{Lane: history.LaneControl, RatePerSecond: 20})
	}).Load(history.LaneControl, 20, ht.SteadyAt, ht.DrainedAt).Fail(history.LaneControl, 36*second, 36*second+history.Offset(fail)*50*ms, history.TimeoutConnect)
}

// faultSeenAt is a record whose fault was seen in effect at another moment; zero: never.
func faultSeenAt(b *ht.Builder, at history.Offset) *ht.Builder {
	return b.EditEvents(func(e *history.Event) {
		if e.Fault == nil || e.Fault.Stage != history.Seen {
			return
		}
		e.T = at
		if at == 0 {
			e.Fault.Stage = history.Injecting
		}
	})
}

func TestNoiseIsToldFromDamage(t *testing.T) {
	worker, harness := ht.Worker, history.NoiseHarness
	stood := history.Noise{Of: worker, Pause: second}
	tests := []struct {
		name string
		run  *ht.Builder
		want verdict.Outcome
	}{
		{"a worker that stood still gives up on answers that were there", heard(givenUp(history.TimeoutConnect), 21100*ms, stood), verdict.Unknown},
		{"one that its quota kept from running", heard(givenUp(history.Stall), 21100*ms, history.Noise{Of: worker, Pause: 950 * ms, Throttled: 800 * ms}), verdict.Unknown},
		{"one whose machine was given to others", heard(givenUp(history.TimeoutResponse), 21100*ms, history.Noise{Of: worker, Pause: 950 * ms, Steal: 0.5}),
			verdict.Unknown},
		{"the control lane failed as well", givenUp(history.TimeoutConnect).Load(history.LaneControl, 20, ht.SteadyAt, ht.DrainedAt).
			Fail(history.LaneControl, 20800*ms, 20900*ms, history.TimeoutConnect),
			verdict.Unknown},

		{"the control lane failed once, and every request of another lane", besideControl(astray(ht.Healthy(), 36*second, 37*second, history.TimeoutConnect), 1),
			verdict.Violated},
		{"the control lane failed once, and half of another lane", besideControl(astray(ht.Healthy(), 36*second, 36500*ms, history.Stall), 1), verdict.Violated},
		{"the control lane failed once, and a twentieth of another lane", besideControl(astray(ht.Healthy(), 36*second, 36050*ms, history.TimeoutConnect), 1),
			verdict.Unknown},
		{"the control lane failed as often as every request of another lane", besideControl(astray(ht.Healthy(), 36*second, 37*second, history.TimeoutConnect), 18),
			verdict.Unknown},

		{"the control lane failed once, long after every request of another lane was sent", besideControl(hanging(34*second, 35500*ms, 4*second), 1), verdict.Violated},
		{"the same, in the last second in which they hang", besideControl(hanging(34*second, 34800*ms, 2*second), 1), verdict.Violated},
		{"the same, and the control lane hangs as well", besideControl(hanging(34*second, 35500*ms, 4*second), 1).EditRequests(func(r *history.Request) {
			if r.Lane == history.LaneControl && r.Outcome.Failed() {
				r.Done = r.Sent + 3*second
			}
		}), verdict.Violated},
		{"the control lane failed once, long after a twentieth of another lane was sent", besideControl(hanging(34*second, 34050*ms, 4*second), 1), verdict.Unknown},

		{"one that heard the answers late", heard(givenUp(history.Late), 21100*ms, stood), verdict.Unknown},

		{"an answer that is late by itself", givenUp(history.Late), verdict.Violated},
		{"without noise it is damage", givenUp(history.TimeoutConnect), verdict.Violated},
		{"whatever the server said: it refused", heard(givenUp(history.Refused), 21100*ms, stood), verdict.Unknown},
		{"it showed a wrong certificate", heard(givenUp(history.BadTLS), 21100*ms, stood), verdict.Unknown},
		{"it answered wrongly", heard(givenUp(history.WrongBody), 21100*ms, stood), verdict.Unknown},
		{"it ended a connection", heard(givenUp(history.Reset), 21100*ms, stood), verdict.Unknown},
		{"damage beside noise", heard(givenUp(history.TimeoutConnect), 21100*ms, stood).Fail(history.LaneReused, 30*second, 30010*ms, history.Refused), verdict.Violated},
		{"damage before noise", heard(givenUp(history.TimeoutConnect), 24*second, stood), verdict.Violated},
		{"damage at another time than the noise", heard(givenUp(history.TimeoutConnect), 18900*ms, stood), verdict.Violated},
		{"noise of another worker", heard(givenUp(history.TimeoutConnect), 21100*ms, history.Noise{Of: "worker-1", Pause: 2 * second}), verdict.Unknown},
		{"noise of the harness, on the same machine", heard(givenUp(history.TimeoutConnect), 21100*ms, history.Noise{Of: harness, Pause: 2 * second}), verdict.Unknown},
		{"a pause that left time for an answer", heard(givenUp(history.TimeoutConnect), 21100*ms, history.Noise{Of: worker, Pause: 850 * ms}), verdict.Unknown},
		{"a pause that was over before they were given up", heard(givenUp(history.TimeoutConnect), 20700*ms, history.Noise{Of: worker, Pause: second}), verdict.Unknown},
		{"pauses that add up", heard(heard(givenUp(history.TimeoutConnect), 20500*ms, history.Noise{Of: worker, Pause: 450 * ms}),
			21100*ms, history.Noise{Of: worker, Pause: 500 * ms}), verdict.Unknown},
		{"a quota that kept it from running now and then", heard(givenUp(history.TimeoutConnect), 21100*ms, history.Noise{Of: worker, Pause: 90 * ms, Throttled: 900 * ms}),
			verdict.Violated},
		{"a machine that is given to others all the time, and no late beat", heard(givenUp(history.TimeoutConnect), 21100*ms, history.Noise{Of: worker, Pause: 40 * ms, Steal: 0.5}),
			verdict.Violated},
		{"what is usual on two busy cores", heard(givenUp(history.TimeoutConnect), 21100*ms,
			history.Noise{Of: worker, Pause: 200 * ms, Steal: 0.02, Used: 1, CPU: 1}), verdict.Violated},
		{"the control lane failed at another time", givenUp(history.TimeoutConnect).Load(history.LaneControl, 20, ht.SteadyAt, ht.DrainedAt).
			Fail(history.LaneControl, 30800*ms, 30900*ms, history.TimeoutConnect), verdict.Violated},

		{"a starved machine lost a node, and requests to it", heard(lostUnasked(givenUp(history.TimeoutConnect)), 16*second,
			history.Noise{Of: harness, Pause: 3 * second}), verdict.Unknown},
		{"a starved machine lost a node to which no request led", heard(lostUnasked(givenUp(history.TimeoutConnect).EditEvents(func(e *history.Event) {
			if e.Pod != nil && e.Pod.Node == "w5" {
				e.Pod.Node = "w4"
			}
		})), 16*second, history.Noise{Of: harness, Pause: 3 * second}), verdict.Violated},
		{"a node that is lost on a machine that is well", lostUnasked(givenUp(history.TimeoutConnect)), verdict.Unknown},
		{"a node that is simulated, and answers no request", lostUnasked(givenUp(history.TimeoutConnect)).EditEvents(func(e *history.Event) {
			if e.Node != nil && e.Node.Name == "w5" {
				e.Node.Labels = map[string]string{"holdfast.dev/role": "simulated"}
			}
		}), verdict.Violated},
		{"a simulated node whose object is gone, and that answers no request", lostUnasked(givenUp(history.TimeoutConnect)).EditEvents(func(e *history.Event) {
			if e.Node != nil && e.Node.Name == "w5" {
				e.Node.Labels = map[string]string{"holdfast.dev/role": "simulated"}
				if e.T == 20*second {
					e.Node.Change, e.Node.Labels = history.Deleted, nil
				}
			}
		}), verdict.Violated},
		{"a simulated node that is late beside a short pause, and bad answers of others", heard(lostUnasked(givenUp(history.BadStatus)), 18*second,
			history.Noise{Of: harness, Pause: 300 * ms}).EditEvents(func(e *history.Event) {
			if e.Node != nil && e.Node.Name == "w5" {
				e.Node.Labels = map[string]string{"holdfast.dev/role": "simulated"}
			}
		}), verdict.Violated},
		{"a node that was lost long after they failed", lostUnasked(astray(ht.Healthy(), 15700*ms, 15800*ms, history.Refused)), verdict.Violated},
		{"a starved machine lost a node, and nobody knows who refused", heard(lostUnasked(astray(ht.Healthy(), 16500*ms, 16600*ms, history.Refused)), 16*second,
			history.Noise{Of: harness, Pause: 3 * second}), verdict.Unknown},
		{"a proxy that is later than any preStop sleep provides for, on a starved machine",
			heard(lateProxy(), 18*second,
				history.Noise{Of: harness, Pause: 3 * second}), verdict.Unknown},
		{"the same, and the pause and what follows was over", heard(lateProxy(), 17*second, history.Noise{Of: harness, Pause: 3 * second}), verdict.Violated},
		{"the same on a machine that is well", lateProxy(), verdict.Violated},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v := judge.Check(test.run.Run(), invariant.NoFailedRequests{})
			outcome(t, v, test.want)
		})
	}
}

// What was not excused is told beside what was.
func TestDamageUnderNoiseSaysSo(t *testing.T) {
	run := heard(givenUp(history.TimeoutConnect), 21100*ms, history.Noise{Of: ht.Worker, Pause: second}).
		Fail(history.LaneReused, 30*second, 30010*ms, history.Refused).Run()
	v := judge.Check(run, invariant.NoFailedRequests{})
	const want = "missing evidence: 20 of 22 failures may be the harness's own noise: worker-0 stood still for 1s within the second before 21.1s"
	if last := v.Evidence[len(v.Evidence)-1]; last != want {
		t.Errorf("evidence ends with\n%s, want\n%s", last, want)
	}
}

// Failures after the predicted end of an outage are the system's, unless the harness explains them.
func TestNoiseAfterAnOutage(t *testing.T) {
	p := invariant.FailuresEndWithin{Limit: second}
	late := func() *ht.Builder { return givenUp(history.TimeoutResponse) }
	check(t, late().Run(), p, verdict.Violated, 20*second)
	check(t, heard(late(), 21100*ms, history.Noise{Of: ht.Worker, Pause: second}).Run(), p, verdict.Unknown, 0)
}

// Where pods are is another matter when a starved machine has lost a node; what evictions were accepted is not.
func TestANodeLostUnaskedMovesPods(t *testing.T) {
	apart := invariant.Spread{TopologyKey: ht.HostLabel, Max: 0}
	noise := history.Noise{Of: history.NoiseHarness, Pause: 3 * second}
	before := judge.Check(ht.Healthy().Run(), apart)
	if before.Outcome != verdict.Violated {
		t.Fatalf("the record holds: %s", before.Seen)
	}
	for name, test := range map[string]struct {
		run     *ht.Builder
		promise invariant.Invariant
		want    verdict.Outcome
	}{
		"lost before it, on a starved machine":                  {heard(lostUnasked(ht.Healthy()), 19*second, noise), apart, verdict.Unknown},
		"lost while a fault that took another node was applied": {heard(lostUnasked(faultSeenAt(ht.Healthy(), 22*second)), 19*second, noise), apart, verdict.Unknown},
		"lost while a fault that was never seen in effect was applied": {heard(lostUnasked(faultSeenAt(ht.Healthy(), 0)), 19*second, noise), apart,
			verdict.Violated},
		"lost in a step of an upgrade": {heard(lostUnasked(ht.Healthy()), 19*second, noise).Event(history.Event{
			T: 19*second + 500*ms, Step: &history.Step{What: "swap kubelet", Node: "w5", Stage: history.StepBegin}}), apart, verdict.Violated},
		"a node on which no pod was": {heard(lostUnasked(ht.Healthy().EditEvents(func(e *history.Event) {
			if e.Pod != nil && e.Pod.Node == "w5" {
				e.Pod.Node = "w4"
			}
		})), 19*second, noise), apart, verdict.Violated},
		"lost before it, on one that was well": {lostUnasked(ht.Healthy()), apart, verdict.Violated},
		"noise, and nothing lost":              {heard(ht.Healthy(), 19*second, noise), apart, verdict.Violated},
		"of a budget": {heard(lostUnasked(evict(ht.Healthy(), 2, 17500*ms)), 19*second, history.Noise{Of: ht.Worker, Pause: 3 * second}),
			invariant.BudgetHonoured{}, verdict.Violated},
	} {
		t.Run(name, func(t *testing.T) {
			v := judge.Check(test.run.Run(), test.promise)
			outcome(t, v, test.want)
		})
	}
}

// A node that a fault took is not lost without one, however starved the machine is.
func TestALossThatWasAskedForIsNoNoise(t *testing.T) {
	run := heard(killed().Fail(history.LaneFresh, 20*second, 20100*ms, history.TimeoutConnect), 16*second,
		history.Noise{Of: history.NoiseHarness, Pause: 3 * second}).Run()
	if v := judge.Check(run, (invariant.NoFailedRequests{})); v.Outcome != verdict.Violated {
		t.Errorf("got %s: %s", v.Outcome, v.Seen)
	}
}

// Promises reckon with watches that are a second late. Later ones may have hidden anything.
func TestLateWatches(t *testing.T) {
	echo := func(sent, at history.Offset) *ht.Builder {
		return ht.Healthy().Event(history.Event{T: at, Echo: &history.Echo{Sent: sent}})
	}
	if v := judge.Check(echo(20*second, 20900*ms).Run(), (invariant.NoFailedRequests{})); v.Outcome != verdict.Held {
		t.Errorf("watches that are 900 ms late: %s: %s", v.Outcome, v.Seen)
	}
	check(t, echo(20*second, 21500*ms).Run(), invariant.NoFailedRequests{}, verdict.Unknown, 0)
	late := evict(ht.Healthy(), 2, 17500*ms).Event(history.Event{T: 19 * second, Echo: &history.Echo{Sent: 16 * second}}).Run()
	if v := judge.Check(late, (invariant.BudgetHonoured{})); v.Outcome != verdict.Unknown {
		t.Errorf("an eviction too many, while the watches were late: %s: %s", v.Outcome, v.Seen)
	}
}
