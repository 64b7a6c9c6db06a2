package invariant_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/disturbances"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/framework/safety/catalogue"
)

// attackedKind is a kind of record that is attacked. Whole runs are attacked in package cli, and nights in package trend.
type attackedKind struct {
	name     string
	held     func(*testing.T) []heldRecord
	remove   func(*rand.Rand, evidence.Part, invariant.Invariant, *ht.Builder) string // see remove
	removals int
	sample   int             // of removals; 0: each piece of evidence from each record, once
	without  []evidence.Part // cannot be removed: a record of the kind never has it
}

var attackedKinds = []attackedKind{
	{"scenarios", heldRecords, remove, 10_000, 0, nil},
	{"recordings", heldRecordings, remove, 1_000, 66, []evidence.Part{evidence.PartRevert}},
	{"sessions", heldSessions, removeFromSession, 1_000, 66, []evidence.Part{evidence.PartRevert}},
}

// heldRecord is a record, and a promise that is held of it.
type heldRecord struct {
	name   string
	record *ht.Builder // to be copied
	// promises are those by which the record is judged; of a scenario, the one that is attacked.
	promises []invariant.Invariant
	at       int // the one that is held
	whole    bool
}

func (h heldRecord) promise() invariant.Invariant { return h.promises[h.at] }

// without says that a promise, or the record, is held without evidence; empty: it is not. What is irrelevant to the other promises leaves the record held.
func (h heldRecord) without(b *ht.Builder, irrelevant bool) string {
	verdicts := judge.CheckAll(b.Run(), h.promises)
	switch v := verdicts[h.at]; {
	case v.Outcome == verdict.Held:
		return "it is held: " + v.Seen
	case h.whole && !irrelevant && judge.Overall(verdicts) == verdict.Held:
		return "the record is held: " + v.Seen
	}
	return ""
}

// damaged says that a record is held in which damage was planted; empty: it is not. Another of its promises may be the one that tells.
func (h heldRecord) damaged(b *ht.Builder) string {
	verdicts := judge.CheckAll(b.Run(), h.promises)
	told := slices.ContainsFunc(verdicts, func(v verdict.Verdict) bool { return v.Outcome == verdict.Violated })
	if h.whole && judge.Overall(verdicts) == verdict.Held || !told && verdicts[h.at].Outcome == verdict.Held {
		return "it is held: " + verdicts[h.at].Seen
	}
	return ""
}

// irrelevant says of a piece of evidence that a recording without it is that of another cluster, in which there is nothing to judge by a promise: no
// budget, no eviction, no constraint, no workload of the kinds that are judged.
func irrelevant(need evidence.Part) bool {
	return slices.Contains([]evidence.Part{evidence.PartBudgets, evidence.PartEvictions, evidence.PartRules, evidence.PartWorkloads}, need)
}

// madeOnce are the records of a kind, which take seconds to unpack and are never edited themselves.
var madeOnce sync.Map

func memorised[T any](t *testing.T, kind string, of func(*testing.T) T) T {
	t.Helper()
	if made, there := madeOnce.Load(kind); there {
		return made.(T)
	}
	made := of(t)
	madeOnce.Store(kind, made)
	return made
}

// heldRecords are all promises that are held: of the golden runs, which are real, and of the records built for each kind.
func heldRecords(t *testing.T) []heldRecord {
	t.Helper()
	return memorised(t, "scenarios", func(t *testing.T) (held []heldRecord) {
		for _, name := range goldenRuns(t) {
			_, run := unpackGolden(t, name)
			record := editable(t, run)
			for i, v := range judge.Judge(run) {
				if v.Outcome != verdict.Held {
					continue
				}
				promise, err := invariant.Decode(run.Header.Promises[i])
				if err != nil {
					t.Fatal(err)
				}
				held = append(held, heldRecord{name: name, record: record, promises: []invariant.Invariant{promise}})
			}
		}
		all := kept()
		for _, kind := range invariant.Kinds() {
			if k, there := all[kind]; there && kind != "SharesLoad" { // its requests are not in the builder
				held = append(held, heldRecord{name: "built for " + kind, record: editable(t, k.run().Run()), promises: []invariant.Invariant{k.promise}})
			}
		}
		return held
	})
}

// heldOf are the promises of a whole record that are held of it; none if it is not held itself.
func heldOf(name string, b *ht.Builder, promises []invariant.Invariant) (held []heldRecord) {
	verdicts := judge.CheckAll(b.Run(), promises)
	for i, v := range verdicts {
		if v.Outcome == verdict.Held {
			held = append(held, heldRecord{name, b, promises, i, judge.Overall(verdicts) == verdict.Held})
		}
	}
	return held
}

// recordings are the golden runs, and some built ones, as recordings of somebody else's doings, by their names.
func recordings(t *testing.T) map[string]*ht.Builder {
	t.Helper()
	return memorised(t, "all recordings", func(t *testing.T) map[string]*ht.Builder {
		all := map[string]*ht.Builder{
			"a built drain":                        recordedDrain(),
			"a built drain, recorded from outside": asRecorded(ht.Healthy()),
			"a built loss":                         recordedLoss(),
			"a built failure":                      failEach(strike(calm(), podFails, 20*second, 6*second, 3), 6, 19500*ms, 21500*ms, history.Refused),
		}
		for _, name := range goldenRuns(t) {
			_, run := unpackGolden(t, name)
			var services []string
			for _, e := range run.Events {
				if e.Slice != nil && run.Header.Plan != nil && !slices.Contains(services, e.Slice.Namespace+"/"+e.Slice.Service) {
					services = append(services, e.Slice.Namespace+"/"+e.Slice.Service)
				}
			}
			all[name] = editable(t, run).AsRecording(services...).Header(func(h *history.Header) { h.Samples = min(h.Samples, history.SamplesOfItself) })
		}
		for name, b := range all {
			all[name] = editable(t, b.Run())
		}
		return all
	})
}

// heldRecordings are recordings, with each promise that is held of them.
func heldRecordings(t *testing.T) []heldRecord {
	t.Helper()
	return memorised(t, "recordings", func(t *testing.T) (held []heldRecord) {
		all := recordings(t)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			held = append(held, heldOf("recording of "+name, all[name], promised(*all[name].Run().Header.Recorded))...)
		}
		return held
	})
}

// heldSessions are the same as steps of `test --disturb`: holdfast made what was recorded.
func heldSessions(t *testing.T) []heldRecord {
	t.Helper()
	return memorised(t, "sessions", func(t *testing.T) (held []heldRecord) {
		all := recordings(t)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			for _, fault := range catalogue.Faults {
				if step := stepOf(fault, all[name].Copy()); step != nil {
					held = append(held, heldOf(fault.Name+" of "+name, step, promisedOf(fault, step))...)
				}
			}
		}
		return held
	})
}

// isOf says whether a disturbance may be a fault's.
func isOf(fault catalogue.Fault, d disturbances.Disturbance) bool {
	return slices.Contains(fault.Seen, d.Kind)
}

// stepOf makes a recording one of a step of a session; nil: nothing in it is of the fault.
func stepOf(fault catalogue.Fault, b *ht.Builder) *ht.Builder {
	from, to := b.Run().UnderLoad()
	shown := slices.DeleteFunc(shownIn(b), func(d disturbances.Disturbance) bool { return !isOf(fault, d) })
	if len(shown) == 0 {
		return nil
	}
	b.Header(func(h *history.Header) {
		h.Recorded = new(*h.Recorded)
		h.Recorded.Command = []string{"holdfast", "test", "--disturb", "--faults", fault.Name}
		for _, kind := range fault.Seen {
			h.Recorded.Does = append(h.Recorded.Does, string(kind))
		}
	})
	b.Step(max(from, shown[0].From-second)+1, history.Step{What: history.CommandStep, Stage: history.StepBegin})
	return b.Step(min(to, lastOver(b)+second)-1, history.Step{What: history.CommandStep, Stage: history.StepEnd})
}

// promisedOf are the promises of a step: those of its own fault's class.
func promisedOf(fault catalogue.Fault, b *ht.Builder) []invariant.Invariant {
	other := "FailuresEndWithin"
	if fault.Name == catalogue.NodeKill.Name {
		other = "NoFailedRequests"
	}
	return slices.DeleteFunc(promised(*b.Run().Header.Recorded), func(p invariant.Invariant) bool { return invariant.Kind(p) == other })
}

// removeFromSession is remove for a step of a session. What it did, and when, is evidence as well: what others did is none.
func removeFromSession(random *rand.Rand, need evidence.Part, p invariant.Invariant, b *ht.Builder) string {
	steps := func(edit func(e *history.Event)) {
		b.EditEvents(func(e *history.Event) {
			if e.Step != nil {
				edit(e)
			}
		})
	}
	from, to := b.Run().UnderLoad()
	first, last := shownIn(b)[0].From, lastOver(b)
	if need == evidence.PartPhases && random.IntN(2) == 0 {
		stage := pick(random, history.StepBegin, history.StepEnd)
		b.DropEvents(func(e history.Event) bool { return e.Step != nil && e.Step.Stage == stage })
		return fmt.Sprintf("no %s of the step", stage)
	}
	if need != evidence.PartFault {
		return remove(random, need, p, b)
	}
	switch random.IntN(4) {
	case 0:
		return remove(random, need, p, b)
	case 1:
		if first-from < 4*second {
			return ""
		}
		at := from + 1
		steps(func(e *history.Event) { e.T, at = at, first-3*second })
		return "the step ended before anything was disturbed"
	case 2:
		if to-last < 4*second {
			return ""
		}
		at := last + 3*second
		steps(func(e *history.Event) { e.T, at = at, to-1 })
		return "the step began when all was over"
	}
	pods := podsOf(b)
	staysAsItWas(b)
	pod := pick(random, pods...)
	if slices.Contains(b.Run().Header.Recorded.Does, string(disturbances.Restart)) {
		return "" // which is what a killed node may come to
	}
	at := first + history.Offset(random.Int64N(int64(last-first)+1))
	pod.Change, pod.Ready, pod.Restarts = history.Modified, false, pod.Restarts+1
	b.Pod(at, pod)
	pod.Ready = true
	b.Pod(at+500*ms, pod)
	return fmt.Sprintf("nothing but a container of %s that was restarted at %s", pod.Name, at)
}
