package attribution_test

import (
	"slices"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
)

// BenchmarkAttribution is what finding the causes costs for each request of a real record, if all of them fail and if none does:
// ns/request, reading and folding the events not counted.
func BenchmarkAttribution(b *testing.B) {
	files, err := historytest.Unpack("../../invariant/testdata/golden/kill-one-worker.tar.gz")
	if err != nil {
		b.Fatal(err)
	}
	run, err := history.OpenFS(files, "kill-one-worker")
	if err != nil {
		b.Fatal(err)
	}
	var rows []history.Request
	for r, err := range run.Requests() {
		if err != nil {
			b.Fatal(err)
		}
		if r.Outcome != history.Unsent {
			rows = append(rows, *r)
		}
	}
	failed := slices.Clone(rows)
	outcomes := []history.Outcome{history.Refused, history.Reset, history.TimeoutConnect, history.TimeoutResponse}
	for i := range failed {
		failed[i].Outcome, failed[i].Pod, failed[i].Node = outcomes[i%len(outcomes)], "", ""
	}
	for name, requests := range map[string][]history.Request{"answered": rows, "failed": failed} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				b.StopTimer()
				causes := attribution.NewFailureCauses(run)
				b.StartTimer()
				for i := range requests {
					causes.Take(&requests[i])
				}
				causes.Counts()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(requests)), "ns/request")
		})
	}
}

// BenchmarkEvents is what it costs to fold the events of a small record, before the first request.
func BenchmarkEvents(b *testing.B) {
	run := historytest.Healthy().Run()
	b.ReportAllocs()
	for range b.N {
		attribution.NewFailureCauses(run)
	}
}
