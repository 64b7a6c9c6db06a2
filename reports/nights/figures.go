package nights

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/words"
)

// Unit is what a figure counts.
type Unit string

// The units.
const (
	Seconds Unit = "seconds"
	Count   Unit = "count"
	Share   Unit = "share" // of nights: 0 or 1 in each
)

// Figure is a number that is followed over the nights. The higher it is, the worse.
type Figure struct {
	Name string
	Unit Unit
	Is   string // what it measures
	// Mutants: the figure says something about mutants, too, whose workload is broken on purpose.
	Mutants bool
	// Verdict: the figure is made from the verdict, and exists for a scenario that was not judged.
	Verdict bool
	of      func(*reports.Scenario) float64 // NaN if there is none
}

// Figures are all figures that are followed. A new one is a row here: trend tests it, and the page of all nights can draw it.
var Figures = []Figure{
	{Name: "recovery", Unit: Seconds, Is: "time until the workload was whole again", of: longest("recoveredSeconds", "replacedSeconds", "resumedSeconds")},
	{Name: "outage", Unit: Seconds, Is: "time for which requests failed after a fault", of: longest("measuredSeconds")},
	{Name: "p99", Unit: Seconds, Is: "99th percentile of the latency, on the slowest lane", of: p99},
	{Name: "failed", Unit: Count, Is: "failed requests", of: failed},
	{Name: "blind", Unit: Seconds, Is: "longest time without a request sent", Mutants: true, of: longest("blindSeconds")},
	{Name: "missing evidence", Unit: Count, Is: "pieces of evidence that were missing", Mutants: true, of: longest("doubts")},
	{Name: "broken", Unit: Share, Is: "nights in which a promise was broken, or the mutant was missed", Mutants: true, Verdict: true, of: broken},
	{Name: "unknown", Unit: Share, Is: "nights in which evidence was missing", Mutants: true, Verdict: true, of: unknown},
}

// Text is a value of the figure in words.
func (f Figure) Text(value float64) string {
	switch f.Unit {
	case Seconds:
		return words.Brief(time.Duration(value * float64(time.Second)))
	case Share:
		return words.Percent(value)
	}
	return words.Number(value)
}

// longest is the largest of the numbers with these names in all verdicts. A name may be followed by a lane: "blindSeconds.fresh".
func longest(names ...string) func(*reports.Scenario) float64 {
	return func(s *reports.Scenario) float64 {
		most := math.NaN()
		for i := range s.Verdicts {
			for key, number := range s.Verdicts[i].Numbers {
				stem, _, _ := strings.Cut(key, ".")
				for _, name := range names {
					if stem == name {
						most = worse(most, number)
					}
				}
			}
		}
		return most
	}
}

// p99 is that of the slowest lane. Latencies are of successful requests.
func p99(s *reports.Scenario) float64 {
	worst := math.NaN()
	for i := range s.Lanes {
		if l := &s.Lanes[i]; l.Name != history.LaneControl && l.OK > 0 {
			worst = worse(worst, time.Duration(l.Latency.P99).Seconds())
		}
	}
	return worst
}

// worse is the higher of two values. A negative one, which cannot be, stays to be seen.
func worse(a, b float64) float64 {
	if math.IsNaN(a) || b < 0 || b > a && a >= 0 {
		return b
	}
	return a
}

func failed(s *reports.Scenario) float64 {
	if s.Sent() == 0 {
		return math.NaN()
	}
	return float64(s.Failed())
}

func broken(s *reports.Scenario) float64 {
	switch {
	case s.Result.Broken():
		return 1
	case s.Result.Good():
		return 0
	}
	return math.NaN()
}

// unknown leaves out what did not run to its end: that is no missing evidence.
func unknown(s *reports.Scenario) float64 {
	switch {
	case s.Result == reports.Unknown:
		return 1
	case s.Result.Good() || s.Result.Broken():
		return 0
	}
	return math.NaN()
}

// mostSeconds and mostCount are more than any run can have.
const (
	mostSeconds = 30 * 24 * 3600
	mostCount   = 1e12
)

// measure takes the figures of a scenario. A scenario that was not judged has none but those of its verdict, because what it measured may
// be an effect of what was missing.
func measure(s *reports.Scenario) (figures []float64, absurd []string) {
	judged := s.Result.Good() || s.Result.Broken()
	for _, f := range Figures {
		value := math.NaN()
		if (judged || f.Verdict) && (s.Mutant == nil || f.Mutants) {
			value = f.of(s)
		}
		most := float64(mostCount)
		if f.Unit == Seconds {
			most = mostSeconds
		}
		if value < 0 || value > most {
			absurd = append(absurd, fmt.Sprintf("%s of %s is %g %s", f.Name, s.Name, value, f.Unit))
			value = math.NaN()
		}
		figures = append(figures, value)
	}
	return figures, absurd
}
