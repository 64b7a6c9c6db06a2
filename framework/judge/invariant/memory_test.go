package invariant_test

import (
	"iter"
	"runtime"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
)

// TestMemoryDoesNotGrow: ten times as many requests in the same time, of which as many failed, and every promise takes no more
// memory to judge them. What failures take is bounded by itself: see maxShots.
func TestMemoryDoesNotGrow(t *testing.T) {
	run := ht.Healthy().Run()
	run.Header.Cluster.Name = "" // or a regexp would shorten names, with memory that the race detector makes it ask for at random
	var like []history.Request
	for r, err := range run.Requests() {
		if err != nil {
			t.Fatal(err)
		}
		like = append(like, *r)
	}
	span := ht.DrainedAt - ht.SteadyAt
	judge := func(n int, p invariant.Invariant) uint64 {
		var row history.Request
		run.Requests = func() iter.Seq2[*history.Request, error] {
			return func(yield func(*history.Request, error) bool) {
				for i := range n {
					row = like[i%len(like)]
					row.Conn = uint64(i % 3000) // a promise that counts them stops somewhere, see MaxDeal
					row.Seq, row.Due = uint64(i), ht.SteadyAt+span*time.Duration(i)/time.Duration(n)
					row.Sent, row.Done = row.Due, row.Due+ht.Latency
					if i%(n/200) == 0 {
						row.Outcome = history.Reset
					}
					if !yield(&row, nil) {
						return
					}
				}
			}
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		judge.CheckAll(run, []invariant.Invariant{p})
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	for _, p := range strict() {
		judge(20_000, p) // what is allocated once
		few, many := judge(20_000, p), judge(200_000, p)
		// Less than a byte a request: what fmt keeps for later is made anew when the collector has taken it.
		if grown := int64(many) - int64(few); grown > 128<<10 {
			t.Errorf("%s %s: 20,000 requests took %d bytes to judge, 200,000 took %d more", invariant.Kind(p), p, few, grown)
		}
	}
}
