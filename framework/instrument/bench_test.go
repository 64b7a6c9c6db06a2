package instrument

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// BenchmarkShortestOutage reports, for each rate and lane, how many percent of the outages of each length were seen, and the
// shortest length from which on all were (0: there is none); then how many outages did not count because the worker was late,
// and how many requests failed without one.
//
//	go test -run '^$' -bench ShortestOutage -benchtime 1x ./framework/instrument
func BenchmarkShortestOutage(b *testing.B) {
	const trials = 150
	for b.Loop() {
		rows, err := Outages(b.Context(), b.TempDir(), trials, rand.New(rand.NewPCG(rand.Uint64(), 0)), func(int, int) {})
		if err != nil {
			b.Fatal(err)
		}
		for _, r := range rows {
			b.Run(fmt.Sprintf("%s/every=%gms", strings.Join(r.Lanes, "+"), r.GapMilliseconds), func(b *testing.B) {
				for b.Loop() { // it was measured above
				}
				for _, l := range r.Lengths {
					b.ReportMetric(100*l.Seen.Share(), fmt.Sprintf("%%-of-%gms", l.Milliseconds))
				}
				b.ReportMetric(r.Shortest(), "shortest-ms")
				b.ReportMetric(float64(r.Late), "late")
				b.ReportMetric(float64(r.FalseAlarms), "false-alarms")
				b.ReportMetric(0, "ns/op") // the length of the trials, which says nothing
			})
		}
	}
}
