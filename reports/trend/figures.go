package trend

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/reports"
)

// Figure is a number that is followed over the nights. The higher it is, the worse.
type Figure struct {
	Name    string
	Text    func(float64) string // a value in words
	Mutants bool                 // it exists for mutants, too, whose workload is broken on purpose
	Share   bool                 // of nights with a verdict: 0 or 1 in each, also if the scenario was not judged
	of      func(*reports.Scenario) float64
}

// Figures are all figures that are followed: a new one is a row.
var Figures = []Figure{
	{"recovery", seconds, false, false, longest("recoveredSeconds", "replacedSeconds", "resumedSeconds")},
	{"outage", seconds, false, false, longest("measuredSeconds")},
	{"p99", seconds, false, false, p99},
	{"failed", prose.Number, false, false, failed},
	{"blind", seconds, true, false, longest("blindSeconds")},
	{"missing evidence", prose.Number, true, false, longest("doubts")},
	{"broken", prose.Share, true, true, share(reports.Result.Broken, reports.Result.Good)},
	{"unknown", prose.Share, true, true, share(func(r reports.Result) bool { return r == reports.Unknown }, hasFigures)},
}

func seconds(value float64) string { return prose.Brief(time.Duration(value * float64(time.Second))) }

// measure takes the figures of a scenario; NaN: it has none. One that was not judged has only shares, because what it measured may be an
// effect of what was missing.
func measure(s *reports.Scenario) (figures []float64) {
	for _, f := range Figures {
		value := math.NaN()
		if (f.Share || hasFigures(s.Result)) && (s.Mutant == nil || f.Mutants) {
			value = f.of(s)
		}
		figures = append(figures, value)
	}
	return figures
}

func hasFigures(r reports.Result) bool { return r.Good() || r.Broken() }

// longest is the largest of the numbers with these names in all verdicts. A name may be followed by a lane: "blindSeconds.fresh".
func longest(names ...string) func(*reports.Scenario) float64 {
	return func(s *reports.Scenario) float64 {
		most := math.NaN()
		for i := range s.Verdicts {
			for key, number := range s.Verdicts[i].Numbers {
				if stem, _, _ := strings.Cut(key, "."); slices.Contains(names, stem) && !(number <= most) {
					most = number
				}
			}
		}
		return most
	}
}

// p99 is the 99th percentile of the slowest lane. Latencies are of successful requests.
func p99(s *reports.Scenario) float64 {
	worst := math.NaN()
	for i := range s.Lanes {
		l := &s.Lanes[i]
		if p := time.Duration(l.Latency.P99).Seconds(); l.Name != history.LaneControl && l.OK > 0 && !(p <= worst) {
			worst = p
		}
	}
	return worst
}

func failed(s *reports.Scenario) float64 {
	if s.Sent() == 0 {
		return math.NaN()
	}
	return float64(s.Failed())
}

// share is 1 for some results, and 0 for others.
func share(one, zero func(reports.Result) bool) func(*reports.Scenario) float64 {
	return func(s *reports.Scenario) float64 {
		switch {
		case one(s.Result):
			return 1
		case zero(s.Result):
			return 0
		}
		return math.NaN()
	}
}

// versionNames name what Versions are of.
var versionNames = [...]string{"Kubernetes", "node image", "holdfast", "engine", "kernel", "CPU"}

// Versions are what may change from one night of a line to the next.
type Versions [len(versionNames)]string

// To lists what differs in b; it is never nil.
func (v Versions) To(b Versions) []string {
	list := []string{}
	for i, what := range versionNames {
		if v[i] != b[i] {
			list = append(list, fmt.Sprintf("%s %s to %s", what, cmp.Or(v[i], "unknown"), cmp.Or(b[i], "unknown")))
		}
	}
	return list
}

// place finds the line of a scenario: what must be the same before figures are compared. Anything else that changes is part of Versions. A
// scenario that did not begin has no cluster, and belongs to the line of its run.
func (s *Scenario) place(r *reports.Report, of *reports.Scenario) {
	k, app, m := of.Cluster, of.Application, runfolder.Machine{}
	if k.Kubernetes == "" {
		k = r.Cluster
		for i := range r.Scenarios {
			app = cmp.Or(app, r.Scenarios[i].Application)
		}
	}
	if r.Machine != nil {
		m = *r.Machine
	}
	engine, _, _ := strings.Cut(k.Engine, " ")
	cluster, simulated, cores := "", "", ""
	if k.Engine == "" { // holdfast's own clusters have an engine, and names of a single run
		cluster = k.Name
	}
	if k.SimulatedNodes > 0 {
		simulated = prose.Count(k.SimulatedNodes, "simulated node")
	}
	if m.Cores > 0 {
		cores = fmt.Sprintf("%d cores %s", m.Cores, m.Arch)
	}
	owner := [][2]string{{"application ", app}, {"cluster ", cluster}}
	s.Kind = joined(owner...)
	s.Line = joined(append([][2]string{{"Kubernetes ", cmp.Or(minor(k.Kubernetes), "of an unknown version")}}, append(owner,
		[][2]string{{"timings ", k.Profile}, {"", k.ProxyMode}, {"", k.Provider}, {"", engine}, {"", simulated}, {"", cores}}...)...)...)
	s.Versions = Versions{k.Kubernetes, k.Image, r.Holdfast, k.Engine, m.Kernel, m.CPU}
}

// joined lists what is known, each behind its name.
func joined(parts ...[2]string) string {
	var list []string
	for _, part := range parts {
		if part[1] != "" {
			list = append(list, part[0]+part[1])
		}
	}
	return strings.Join(list, ", ")
}

// minor is "v1.37" of "v1.37.1". What is no version stays as it is.
func minor(version string) string { return cmp.Or(semver.MajorMinor(version), version) }
