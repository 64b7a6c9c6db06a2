package invariant_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/history/historytest/adversary"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
)

// editable is a Builder with all of a record.
func editable(t *testing.T, run history.Run) *ht.Builder {
	t.Helper()
	b, err := ht.Of(run)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestWithoutItsEvidenceNothingIsHeld removes, at random, evidence that a promise declares to need. It is never Held then, and neither is a recording
// or a step of a session of which it is a promise.
func TestWithoutItsEvidenceNothingIsHeld(t *testing.T) {
	type removal struct {
		heldRecord
		need evidence.Part
	}
	for _, kind := range attackedKinds {
		t.Run(kind.name, func(t *testing.T) {
			byNeed := make(map[evidence.Part][]removal)
			var needs []evidence.Part // in the order in which they are found
			for _, h := range kind.held(t) {
				all := h.promise().Needs().All()
				if _, requests := h.promise().(invariant.RequestInvariant); requests && kind.name != "scenarios" { // which tell whom requests may have met
					all = append(all, evidence.PartSlices)
				}
				for _, need := range all {
					if byNeed[need] == nil {
						needs = append(needs, need)
					}
					byNeed[need] = append(byNeed[need], removal{h, need})
				}
			}
			var all []removal // a sample takes each need as often
			for round := 0; len(byNeed) > 0; round++ {
				for _, need := range needs {
					if of := byNeed[need]; round < len(of) {
						all = append(all, of[round])
					} else {
						delete(byNeed, need)
					}
				}
			}
			tried := make(map[evidence.Part]int)
			attacked := adversary.Attack(t, adversary.Times(kind.removals, cmp.Or(kind.sample, len(all))), func(random *rand.Rand, number int) (did, wrong string) {
				r := all[number%len(all)]
				b := r.record.Copy()
				how := kind.remove(random, r.need, r.promise(), b)
				if how == "" {
					return "", ""
				}
				tried[r.need]++
				return fmt.Sprintf("%s: %s without %s (%s)", r.name, invariant.Kind(r.promise()), r.need, how), r.without(b, irrelevant(r.need))
			})
			for _, need := range needs {
				if attacked && tried[need] == 0 && !slices.Contains(kind.without, need) {
					t.Errorf("%s was never removed", need)
				}
			}
		})
	}
}

// remove takes evidence out of a record and says how; empty: there is none of it that could be removed. The disturbances of a recording are its faults,
// and only the times around them count.
func remove(random *rand.Rand, need evidence.Part, p invariant.Invariant, b *ht.Builder) string {
	recorded := b.Run().Header.Recorded != nil
	moments := []history.Offset{underLoad(random, b)}
	if recorded {
		moments = nil
		_, to := b.Run().UnderLoad()
		for _, d := range shownIn(b) {
			moments = append(moments, min(d.Seen, to-1))
		}
	}
	switch need {
	case evidence.PartWhole:
		if random.IntN(2) == 0 {
			b.Incomplete("it was cut off")
			return "cut off"
		}
		for _, at := range moments {
			b.Trouble(at, "the disk is full")
		}
		return fmt.Sprintf("trouble at %s", moments)
	case evidence.PartPhases:
		phase := pick(random, history.Steady, history.Drained)
		if !recorded {
			phase = pick(random, phase, history.Disturbed, history.Recovered)
		}
		b.DropEvents(func(e history.Event) bool { return e.Phase != nil && e.Phase.Name == phase })
		return "no phase " + string(phase)
	case evidence.PartFault:
		if !recorded {
			return withoutFault(random, b)
		}
		from, _ := b.Run().UnderLoad()
		b.DropEvents(func(e history.Event) bool { return e.T >= from && (e.Pod != nil || e.Node != nil || e.Workload != nil) })
		return "no disturbance"
	case evidence.PartRevert:
		if recorded {
			return "" // nobody reverts what disturbs a recording
		}
		return setFault(b, aFault(random, b), history.Healed, "waited 30s for it to be gone")
	case evidence.PartSlices:
		if recorded {
			return withoutSlices(random, p, b)
		}
	case evidence.PartWatches:
		what := pick(random, "pods", "nodes", "endpointslices", "poddisruptionbudgets", "deployments")
		for _, at := range moments {
			b.Gap(what, max(0, at-second), at)
		}
		return fmt.Sprintf("gaps in the watch of %s until %s", what, moments)
	case evidence.PartRows, evidence.PartDelivery, evidence.PartClocks:
		return withoutLoad(random, need, p, b, moments)
	}
	return withoutObjects(need, b)
}

func pick[T any](random *rand.Rand, of ...T) T { return of[random.IntN(len(of))] }

// underLoad is a moment between the beginning of Steady and that of Drained.
func underLoad(random *rand.Rand, b *ht.Builder) history.Offset {
	from, to := b.Run().UnderLoad()
	return from + history.Offset(random.Int64N(int64(to-from)))
}

func aFault(random *rand.Rand, b *ht.Builder) int {
	var ids []int
	for _, f := range timeline.Faults(b.Run()) {
		ids = append(ids, f.ID)
	}
	return pick(random, ids...)
}

// setFault writes into a stage of a fault that it was not reached.
func setFault(b *ht.Builder, id int, stage history.FaultStage, err string) string {
	b.EditEvents(func(e *history.Event) {
		if e.Fault != nil && e.Fault.ID == id && e.Fault.Stage == stage {
			e.Fault.Error = err
		}
	})
	return fmt.Sprintf("fault %d was not %s", id, stage)
}

func withoutFault(random *rand.Rand, b *ht.Builder) string {
	id := aFault(random, b)
	is := func(e history.Event, stages ...history.FaultStage) bool {
		return e.Fault != nil && e.Fault.ID == id && slices.Contains(stages, e.Fault.Stage)
	}
	switch random.IntN(5) {
	case 0:
		b.DropEvents(func(e history.Event) bool { return e.Fault != nil })
		return "no fault"
	case 1:
		b.DropEvents(func(e history.Event) bool { return is(e, history.Seen) })
		return fmt.Sprintf("fault %d was not seen", id)
	case 2:
		b.DropEvents(func(e history.Event) bool { return is(e, history.Injecting) })
		return fmt.Sprintf("fault %d has no beginning", id)
	case 3:
		var seen history.Offset
		for _, e := range b.Events() {
			if is(e, history.Seen) {
				seen = e.T
			}
		}
		b.DropEvents(func(e history.Event) bool { return is(e, history.Healed, history.Healing, history.Lasting) })
		b.Fault(seen+ms, history.FaultMark{ID: id, Name: "it", Stage: history.Healed})
		return fmt.Sprintf("fault %d was gone by itself", id)
	default:
		return setFault(b, id, history.Seen, "waited 30s for it to take effect")
	}
}

func withoutLoad(random *rand.Rand, need evidence.Part, p invariant.Invariant, b *ht.Builder, moments []history.Offset) string {
	rows := b.Requests()
	if len(rows) == 0 {
		return ""
	}
	lane := judgedLane(random, p, b)
	switch need {
	case evidence.PartClocks:
		if random.IntN(2) == 0 {
			b.EditEvents(func(e *history.Event) {
				if e.Clock != nil {
					e.Clock.Uncertainty = 150 * ms
				}
			})
			return "a clock that may be 150ms off"
		}
		b = materialise(b)
		b.DropEvents(func(e history.Event) bool { return e.Clock != nil })
		return "no clock"
	case evidence.PartDelivery:
		from, to := b.Run().UnderLoad()
		at := min(max(pick(random, moments...), from+second), to-second)
		n := 0
		b.EditRequests(func(r *history.Request) {
			if r.Lane == lane && r.Due >= at-second && r.Due < at+second && n%5 == 0 {
				unsend(r)
			}
			n++
		})
		materialise(b).Retotal()
		return fmt.Sprintf("a fifth unsent on %s around %s", lane, at)
	}
	materialise(b)
	switch random.IntN(5) {
	case 0:
		b.FailReading(errors.New("the file ends too soon"))
		return "rows that cannot be read"
	case 1:
		b.DropEvents(func(e history.Event) bool { return e.Load != nil && e.Load.Lane == lane })
		return fmt.Sprintf("no totals of %s", lane)
	case 2:
		b.DropRequests(func(r history.Request) bool { return r.Lane == lane })
		return fmt.Sprintf("no request on %s", lane)
	case 3:
		row := rows[random.IntN(len(rows))]
		b.DropRequests(func(r history.Request) bool { return r.Worker == row.Worker && r.Lane == row.Lane && r.Seq == row.Seq })
		if random.IntN(2) == 0 {
			b.Retotal()
			last := uint64(0) // the last row of a lane leaves no hole: its worker's own count tells
			for _, r := range rows {
				if r.Worker == row.Worker && r.Lane == row.Lane {
					last = max(last, r.Seq)
				}
			}
			if row.Seq >= last {
				return ""
			}
		}
		return fmt.Sprintf("request %d of %s is missing", row.Seq, row.Lane)
	default:
		b.Request(rows[random.IntN(len(rows))])
		return "a request is there twice"
	}
}

// materialise writes down the totals that a built record would get from its rows only when it is run.
func materialise(b *ht.Builder) *ht.Builder {
	run := b.Run()
	if !slices.ContainsFunc(b.Events(), func(e history.Event) bool { return e.Clock != nil }) {
		for _, e := range run.Events {
			if e.Clock != nil || e.Load != nil {
				b.Event(e)
			}
		}
	}
	return b.WithoutTotals()
}

// judgedLane is a lane that a promise is about.
func judgedLane(random *rand.Rand, p invariant.Invariant, b *ht.Builder) history.Lane {
	switch p := p.(type) {
	case invariant.QuietWithin:
		return or(p.Lane, history.LaneFresh)
	case invariant.NoFailedRequests:
		if len(p.Lanes) > 0 {
			return pick(random, p.Lanes...)
		}
	case invariant.FewFailedRequests:
		if len(p.Lanes) > 0 {
			return pick(random, p.Lanes...)
		}
	case invariant.FailuresEndWithin:
		if len(p.Lanes) > 0 {
			return pick(random, p.Lanes...)
		}
	}
	var lanes []history.Lane
	for _, r := range b.Requests() {
		if r.Lane != history.LaneControl && !slices.Contains(lanes, r.Lane) {
			lanes = append(lanes, r.Lane)
		}
	}
	return pick(random, lanes...)
}

func or(lane, otherwise history.Lane) history.Lane {
	if lane == "" {
		return otherwise
	}
	return lane
}

// withoutObjects drops all events of a kind.
func withoutObjects(need evidence.Part, b *ht.Builder) string {
	is, known := map[evidence.Part]func(history.Event) bool{
		evidence.PartPods:       func(e history.Event) bool { return e.Pod != nil },
		evidence.PartNodes:      func(e history.Event) bool { return e.Node != nil },
		evidence.PartWorkloads:  func(e history.Event) bool { return e.Workload != nil },
		evidence.PartSlices:     func(e history.Event) bool { return e.Slice != nil },
		evidence.PartBudgets:    func(e history.Event) bool { return e.Budget != nil },
		evidence.PartEvictions:  func(e history.Event) bool { return e.Eviction != nil },
		evidence.PartAudits:     func(e history.Event) bool { return e.Audit != nil },
		evidence.PartAdmissions: func(e history.Event) bool { return e.Admission != nil },
		evidence.PartProbes:     func(e history.Event) bool { return e.Reach != nil },
	}[need]
	if need == evidence.PartRules {
		b.EditEvents(func(e *history.Event) {
			if e.Pod != nil {
				e.Pod.Rules = nil
			}
		})
		return "pods without rules"
	}
	if !known {
		return ""
	}
	b.DropEvents(is)
	if need == evidence.PartEvictions { // a pod tells of its own, too
		b.EditEvents(func(e *history.Event) {
			if e.Pod != nil {
				e.Pod.Disruption = ""
			}
		})
	}
	return "no " + string(need)
}

// withoutSlices drops the slices of a recording, or what they say of pods. A workload need not have a Service, but requests come to some.
func withoutSlices(random *rand.Rand, p invariant.Invariant, b *ht.Builder) string {
	if _, requests := p.(invariant.RequestInvariant); !requests {
		return ""
	}
	switch random.IntN(3) {
	case 0:
		b.EditEvents(func(e *history.Event) {
			if e.Slice != nil {
				e.Slice.Endpoints = nil
			}
		})
		return "slices without endpoints"
	case 1:
		asked(b, func(r *history.Recorded) {
			r.NotWatched = []history.NotWatched{{What: "endpointslices", Why: "this user must not list endpointslices"}}
		})
	}
	b.DropEvents(func(e history.Event) bool { return e.Slice != nil })
	return "no slices"
}
