package selftest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// BenchmarkShortestOutage reports, for each rate and lane, the percentage of outages of each length that were seen, the shortest length
// such that all outages of that length and of all greater lengths were seen (0: none), in how many outages the worker was late, and how
// many requests failed without an outage.
//
//	go test -run '^$' -bench ShortestOutage -benchtime 1x ./framework/selftest
func BenchmarkShortestOutage(b *testing.B) {
	const trials = 150
	for b.Loop() {
		rows, err := measureOutages(b.Context(), b.TempDir(), trials, rand.New(rand.NewPCG(rand.Uint64(), 0)), func(int, int) {})
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
				b.ReportMetric(0, "ns/op") // the duration of the trials, which is no result
			})
		}
	}
}
