package invariant_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// judgedAlike are promises whose verdicts must not depend on how many workers sent the requests.
func judgedAlike() []invariant.Invariant {
	return []invariant.Invariant{
		invariant.NoFailedRequests{}, invariant.AnswersWithin{}, invariant.FailuresEndWithin{}, invariant.QuietWithin{Limit: 5 * time.Second},
	}
}

// unevenAnswers is a record with answers that take different times, so that percentiles are not those of any single worker.
func unevenAnswers(seed uint64, fails bool) *ht.Builder {
	random := rand.New(rand.NewPCG(seed, 7))
	return ht.Healthy().EditRequests(func(r *history.Request) {
		r.Done = r.Sent + time.Duration(random.ExpFloat64()*float64(20*time.Millisecond))
		if fails && r.Seq%97 == 5 {
			r.Outcome, r.Status, r.Bytes, r.Err = history.Reset, 0, 0, "reset"
		}
	})
}

// The verdicts on a plan that several workers share are those on the plan that one worker sends, in each number: totals, percentiles, and
// what failed.
func TestWorkersThatShareAPlanAreJudgedAsOne(t *testing.T) {
	for seed, fails := range []bool{false, true} {
		one := judge.CheckAll(unevenAnswers(uint64(seed), fails).Share(1).Run(), judgedAlike())
		for _, workers := range []int{2, 4, 7} {
			many := judge.CheckAll(unevenAnswers(uint64(seed), fails).Share(workers).Run(), judgedAlike())
			for i := range one {
				if diff := cmp.Diff(one[i].Numbers, many[i].Numbers); diff != "" || one[i].Outcome != many[i].Outcome || one[i].Seen != many[i].Seen {
					t.Errorf("%d workers: %s: %s, and of one worker %s\n%s", workers, judgedAlike()[i], many[i].Seen, one[i].Seen, diff)
				}
			}
		}
		if want := map[bool]verdict.Outcome{false: verdict.Held, true: verdict.Violated}[fails]; one[0].Outcome != want {
			t.Errorf("one worker: %s: %s, want %s", one[0].Outcome, one[0].Seen, want)
		}
	}
}

// loseFrom removes what a worker that is lost at a moment leaves no record of: the rows since its last segment, and its totals.
func loseFrom(b *ht.Builder, worker string, from history.Offset) *ht.Builder {
	b = must(ht.Of(b.Run()))
	return b.DropEvents(func(e history.Event) bool { return e.Load != nil && e.Load.Worker == worker }).
		DropRequests(func(r history.Request) bool { return r.Worker == worker && r.Done >= from })
}

// Whatever is missing of a plan, by accident or by hand, is said: whose hits they are, and how many.
func TestHitsOfThePlanThatAreMissing(t *testing.T) {
	four := func() *ht.Builder { return ht.Healthy().Share(4) }
	second := func(b *ht.Builder, edit func(*history.Request) bool) *ht.Builder {
		done := false
		return b.EditRequests(func(r *history.Request) {
			if !done && r.Worker == "worker-2" && r.Lane == history.LaneFresh && r.Due > 20*time.Second {
				done = edit(r)
			}
		})
	}
	for name, test := range map[string]*ht.Builder{
		"a worker is lost":                       loseFrom(four(), "worker-2", 20*time.Second),
		"a worker is lost as the load ends":      loseFrom(four(), "worker-2", ht.DrainedAt+time.Second),
		"a worker is lost before its first rows": loseFrom(four(), "worker-2", 0),
		"nothing tells of a worker": loseFrom(four(), "worker-2", 0).DropEvents(func(e history.Event) bool {
			return e.Share != nil && e.Share.Worker == "worker-2" || e.Clock != nil && e.Clock.Worker == "worker-2"
		}),
		"a worker ended before the others":                     four().DropRequests(func(r history.Request) bool { return r.Worker == "worker-2" && r.Due >= 39900*time.Millisecond }),
		"one hit is missing, and the worker does not count it": four().DropRequests(func(r history.Request) bool { return r.Seq == 2002 && r.Lane == history.LaneFresh }),
		"one hit is there twice, and another is missing":       second(four(), func(r *history.Request) bool { r.Seq += 4; return true }),
		"a worker sent the hit of another":                     second(four(), func(r *history.Request) bool { r.Seq++; return true }),
		"two workers have the same share": four().EditEvents(func(e *history.Event) {
			if e.Share != nil && e.Share.Worker == "worker-2" {
				e.Share.Index = 1
			}
		}),
		"a worker was told twice": four().Event(history.Event{T: 12 * time.Second, Share: &history.LoadShare{Worker: "worker-2", Share: history.Share{Index: 2, Workers: 4}}}),
	} {
		t.Run(name, func(t *testing.T) {
			for _, p := range judgedAlike() {
				doubted(t, judge.Check(test.Run(), p))
			}
		})
	}
}

// Two duplicates and two missing hits whose numbers have the same sum are no whole plan.
func TestDuplicatesThatAddUp(t *testing.T) {
	b := ht.Healthy().Share(4)
	b.EditRequests(func(r *history.Request) {
		switch {
		case r.Lane != history.LaneFresh:
		case r.Seq == 1002:
			r.Seq += 4
		case r.Seq == 2006:
			r.Seq -= 4
		}
	})
	if v := judge.Check(b.Run(), invariant.NoFailedRequests{}); v.Outcome != verdict.Unknown {
		t.Errorf("%s: %s", v.Outcome, v.Seen)
	}
}

// A worker's schedule is its own clock's. That its clock drifted is no missing hit, and the record says by how much it did.
func TestAWorkerWhoseClockDrifted(t *testing.T) {
	const drift = 30 * time.Millisecond // its last hits came that late
	late := func() *ht.Builder {
		return ht.Healthy().Share(4).DropRequests(func(r history.Request) bool {
			return r.Worker == "worker-2" && r.Due >= ht.DrainedAt-drift
		})
	}
	told := late().Event(history.Event{T: 11 * time.Second, Clock: &history.Clock{Worker: "worker-2"}}).
		Event(history.Event{T: 39 * time.Second, Clock: &history.Clock{Worker: "worker-2", Offset: -drift, Uncertainty: drift, Drift: -drift}})
	if v := judge.Check(told.Run(), invariant.NoFailedRequests{}); v.Outcome != verdict.Held {
		t.Errorf("%s: %s %q", v.Outcome, v.Seen, v.Evidence)
	}
	if v := judge.Check(late().Run(), invariant.NoFailedRequests{}); v.Outcome != verdict.Unknown {
		t.Errorf("without its clock: %s: %s", v.Outcome, v.Seen)
	}
}

// Hundreds of workers on several lanes are watched one by one.
func TestHundredsOfWorkers(t *testing.T) {
	const workers = 300 // on two lanes
	v := judge.Check(ht.Healthy().Share(workers).Run(), invariant.NoFailedRequests{})
	if v.Outcome != verdict.Held {
		t.Errorf("%s: %s %q", v.Outcome, v.Seen, v.Evidence)
	}
	// Of the hits of one of the last, which come every 1.5 s, two are late.
	still := ht.Healthy().Share(workers).EditRequests(func(r *history.Request) {
		if r.Worker == fmt.Sprintf("worker-%d", workers-1) && r.Due > 20*time.Second && r.Due < 23*time.Second {
			r.Sent, r.Done = 23*time.Second, 23*time.Second+ht.Latency
		}
	})
	v = judge.Check(still.Run(), invariant.NoFailedRequests{})
	if v.Outcome != verdict.Unknown || !strings.Contains(strings.Join(v.Evidence, "; "), "worker-299 sent no request on") {
		t.Errorf("%s: %s %q", v.Outcome, v.Seen, v.Evidence)
	}
}
