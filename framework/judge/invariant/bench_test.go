package invariant_test

import (
	"iter"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
)

// BenchmarkCheckAll is what judging costs for each request, reading not counted: every promise of a usual scenario,
// over requests of which one in ten thousand fails. ns/op is nanoseconds a request; allocs/op must be 0.
func BenchmarkCheckAll(b *testing.B) {
	run := historytest.Healthy().Run()
	var rows []history.Request
	for r, err := range run.Requests() {
		if err != nil {
			b.Fatal(err)
		}
		rows = append(rows, *r)
	}
	for i := 0; i < len(rows); i += 10_000 {
		rows[i].Outcome = history.Reset
	}
	run.Requests = func() iter.Seq2[*history.Request, error] {
		return func(yield func(*history.Request, error) bool) {
			for i := range b.N {
				if !yield(&rows[i%len(rows)], nil) {
					return
				}
			}
		}
	}
	promises := []invariant.Invariant{
		invariant.NoFailedRequests{}, invariant.FailuresEndWithin{}, invariant.BudgetHonoured{},
		invariant.Spread{TopologyKey: historytest.ZoneLabel, Max: 1}, invariant.RecoversWithin{Limit: time.Minute},
	}
	b.ReportAllocs()
	b.ResetTimer()
	judge.CheckAll(run, promises)
}
