package invariant_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// strict are promises with every parameter that changes what is looked at, beside those of everything.
func strict() []invariant.Invariant {
	return append(everything(),
		invariant.NoFailedRequests{Lanes: []history.Lane{history.LaneControl, history.LaneFresh}},
		invariant.FewFailedRequests{AtMost: 3}, invariant.FewFailedRequests{Lanes: []history.Lane{history.LaneFresh}, Share: 0.5},
		invariant.FailuresEndWithin{Lanes: []history.Lane{history.LaneFresh}, Limit: 3 * second, Service: "backend"},
		invariant.BudgetHonoured{Budget: "backend", MustRefuse: true, AtLeast: 5, Workload: "backend"},
		invariant.Spread{Workload: "backend", TopologyKey: ht.HostLabel, Max: 1},
		invariant.RecoversWithin{Workload: "backend", Limit: second},
		invariant.DrainBlocked{}, invariant.DrainBlocked{Budget: "backend", For: 5 * second},
		invariant.DrainCompletes{}, invariant.DrainCompletes{Workload: "backend", Unready: true}, invariant.NoFailedRequests{Refused: true},
		invariant.RolloutCompletes{}, invariant.RolloutCompletes{Workload: "backend"},
		invariant.Placement{}, invariant.Placement{Workload: "backend"},
		invariant.PressureLeaves{AtLeast: 5, DespiteBudget: true}, invariant.ReplacedWithin{Limit: 10 * second}, invariant.Placed{Pending: 2},
		invariant.SpreadTogether{TopologyKey: ht.ZoneLabel}, invariant.Spread{TopologyKey: ht.ZoneLabel, Waiting: true},
		invariant.AuditMends{Rules: []string{"no-prestop"}}, invariant.PolicyEnforced{}, invariant.APIAnswersWithin{Limit: second},
		invariant.ResizedInPlace{}, invariant.QuietWithin{Limit: second}, invariant.QuietWithin{Lane: history.LaneReused, Terminations: 2},
		invariant.AnswersWithin{}, invariant.AnswersWithin{Lanes: []history.Lane{history.LaneControl, history.LaneReused}, Slowest: ms, P99: 1},
		invariant.SharesLoad{AtLeast: 0.1, Lane: history.LaneFresh}, invariant.SharesLoad{AtLeast: 0.9, Within: second, Together: true},
	)
}

// thin leaves one request of 150, so that many records can be judged.
func thin(b *ht.Builder) *ht.Builder {
	return b.DropRequests(func(r history.Request) bool { return r.Seq%150 != 2 })
}

// rich are records in which much happens.
func rich() []history.Run {
	return []history.Run{
		thin(ht.Healthy()).Run(),
		thin(failVictims(killed(), history.LaneFresh, 16*second, 17*second)).Gap("pods", 17*second, 18*second).Run(),
		thin(refuse(evict(ht.Healthy(), 2, 17500*ms), 3, 18*second, "backend")).Trouble(20*second, "the disk is full").Run(),
		thin(blocked()).Run(),
		newStepped().to("w1", "w3").to("w1", "w2", "w3").node("w1", "Unknown", false).to("w2", "w3", "w5").Run(),
		newPlacing(spreadOver(overZones, "")).bind("w1", "w2", "w3").terminate(1, "w1").by(affinityOver("podAntiAffinity", overHosts)).bind("w1", "w5").Run(),
		waiting().Run(), squeezed().Run(), inTrials(even(), uneven()).Run(), enforced().Run(),
		thin(beheaded()).Run(), updating(noNode).Run(),
	}
}

// sound judges a record, and demands what every verdict must be whatever the record is.
func sound(t *testing.T, run history.Run, what string) {
	t.Helper()
	promises := strict()
	verdicts := judge.CheckAll(run, promises)
	for i, v := range verdicts {
		switch v.Outcome {
		case verdict.Held, verdict.Violated, verdict.Unknown:
		default:
			t.Errorf("%s: %s is %q", what, v.Kind, v.Outcome)
		}
		if v.Seen == "" || v.Kind != invariant.Kind(promises[i]) || v.Promise != promises[i].String() {
			t.Errorf("%s: %+v", what, v)
		}
		if len(v.Evidence) > verdict.MaxEvidence {
			t.Errorf("%s: %s has %d lines of evidence", what, v.Kind, len(v.Evidence))
		}
		if v.Outcome == verdict.Unknown && len(v.Evidence) == 0 {
			t.Errorf("%s: %s is unknown, and nothing says why", what, v.Kind)
		}
		if v.Outcome == verdict.Held && run.Incomplete != "" {
			t.Errorf("%s: %s is held of a record that is not whole", what, v.Kind)
		}
		if _, err := json.Marshal(v); err != nil {
			t.Errorf("%s: %s cannot be stored: %v", what, v.Kind, err)
		}
	}
	if diff := gocmp.Diff(verdicts, judge.CheckAll(run, promises)); diff != "" {
		t.Errorf("%s: judged twice (-first +second):\n%s", what, diff)
	}
}

// TestSpoiledRecords judges hundreds of records of which some events were lost, doubled, moved, or say nonsense, and
// which may be out of order: never a panic, always a verdict that can be stored, twice the same.
func TestSpoiledRecords(t *testing.T) {
	for n, whole := range rich() {
		for seed := range uint64(60) {
			random := rand.New(rand.NewPCG(seed, uint64(n)))
			run := whole
			run.Events = slices.Clone(whole.Events)
			for range 1 + random.IntN(8) {
				run.Events = spoil(random, run.Events)
			}
			if random.IntN(3) > 0 { // a reader sorts; who judges must bear it if nobody did
				slices.SortStableFunc(run.Events, func(a, b history.Event) int { return cmp.Compare(a.T, b.T) })
			}
			if random.IntN(4) == 0 {
				run.Incomplete = "cut off"
			}
			sound(t, run, fmt.Sprintf("record %d, seed %d", n, seed))
			if t.Failed() {
				return
			}
		}
	}
}

// spoil does one kind of damage. Payloads are shared with the whole record, so what is changed is copied first.
func spoil(random *rand.Rand, events []history.Event) []history.Event {
	if len(events) < 2 {
		return events
	}
	i := random.IntN(len(events))
	switch random.IntN(7) {
	case 0:
		return events[:i]
	case 1:
		return slices.Delete(events, i, i+1)
	case 2:
		return slices.Insert(events, i, events[random.IntN(len(events))])
	case 3:
		random.Shuffle(len(events), func(a, b int) { events[a], events[b] = events[b], events[a] })
	case 4:
		events[i].T = anyMoment(random)
	default:
		scramble(random, &events[i])
	}
	return events
}

func anyMoment(random *rand.Rand) history.Offset {
	const far = history.Offset(1<<63 - 1)
	odd := []history.Offset{-far - 1, -far, -1, 0, 1, far / 2, far - 1, far}
	if random.IntN(2) == 0 {
		return odd[random.IntN(len(odd))]
	}
	return history.Offset(random.Int64N(int64(50 * second)))
}

// scramble puts nonsense into one field of an event's payload.
func scramble(random *rand.Rand, e *history.Event) {
	v := reflect.ValueOf(e).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Pointer && !f.IsNil() {
			fresh := reflect.New(f.Type().Elem())
			fresh.Elem().Set(f.Elem())
			f.Set(fresh)
			nonsense(random, fresh.Elem().Field(random.IntN(fresh.Elem().NumField())))
		}
	}
}

func nonsense(random *rand.Rand, f reflect.Value) {
	switch f.Kind() {
	case reflect.String:
		words := []string{"", "x", "-1", "100%", "%", "backend", "deleted", "True", "steady", "seen", "w1"}
		f.SetString(words[random.IntN(len(words))])
	case reflect.Bool:
		f.SetBool(!f.Bool())
	case reflect.Int, reflect.Int64:
		f.SetInt([]int64{-1 << 63, -1, 0, 1, 7, 1<<63 - 1}[random.IntN(6)])
	case reflect.Uint64:
		f.SetUint([]uint64{0, 1, 6000, 1<<64 - 1}[random.IntN(4)])
	default:
		f.SetZero()
	}
}

// FuzzJudge judges whatever can be read as a record: lines of events, and a file of requests.
func FuzzJudge(f *testing.F) {
	for _, run := range rich() {
		var lines bytes.Buffer
		for _, e := range run.Events {
			line, err := json.Marshal(e)
			if err != nil {
				f.Fatal(err)
			}
			lines.Write(append(line, '\n'))
		}
		encoder := history.NewEncoder()
		rows := encoder.AppendHeader(nil)
		for r, err := range run.Requests() {
			if err != nil {
				f.Fatal(err)
			}
			if r.Seq%400 == 2 {
				rows = encoder.Append(rows, r)
			}
		}
		f.Add(lines.Bytes(), rows)
	}
	f.Add([]byte(`{"t":0,"workload":{"namespace":"","name":""}}`), []byte{})
	f.Fuzz(func(t *testing.T, lines, rows []byte) {
		run := history.Run{Requests: func() iter.Seq2[*history.Request, error] { return history.DecodeRequests(rows) }}
		for line := range bytes.Lines(lines) {
			var e history.Event
			if json.Unmarshal(line, &e) != nil {
				continue
			}
			if e.Header != nil {
				run.Header = *e.Header
			}
			run.Events = append(run.Events, e)
		}
		slices.SortStableFunc(run.Events, func(a, b history.Event) int { return cmp.Compare(a.T, b.T) })
		sound(t, run, "fuzzed")
	})
}
