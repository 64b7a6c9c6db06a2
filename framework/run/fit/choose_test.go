package fit

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

func TestChoose(t *testing.T) {
	for what, test := range map[string]struct {
		processors, requests float64
		start                time.Duration
		asked                float64 // --load-rate
		rate                 float64 // 0: it is too slow
		workers              int
		grace                time.Duration
	}{
		"calm":                             {1.2, 3000, time.Second, 0, 1, 0, 0},
		"just enough":                      {0.68, 800, 8 * time.Second, 0, 1, 0, 0},
		"pods start slowly":                {0.68, 800, 9 * time.Second, 0, 1, 0, patient},
		"half":                             {0.67, 3000, time.Second, 0, 0.5, 1, patient},
		"its system calls are slow":        {1.5, 500, time.Second, 0, 0.5, 1, patient},
		"a quarter":                        {0.26, 150, 30 * time.Second, 0, 0.25, 1, patient},
		"no processor is left":             {0.21, 3000, time.Second, 0, 0, 0, 0},
		"hardly any answer":                {1.5, 149, time.Second, 0, 0, 0, 0},
		"no pod starts":                    {1.5, 3000, 31 * time.Second, 0, 0, 0, 0},
		"nothing was measured to be left":  {0, 0, 0, 0, 0, 0, 0},
		"calm, and slower all the same":    {1.2, 3000, time.Second, 0.3, 0.3, 0, 0},
		"too slow, and tried nevertheless": {0.01, 10, time.Minute, 1, 1, 0, patient},
	} {
		m := runfolder.Fit{Cluster: "c", Processors: test.processors, Requests: test.requests, PodStart: test.start}
		got, err := Choose(m, test.asked)
		if test.rate == 0 {
			if slow := (*TooSlowError)(nil); !errors.As(err, &slow) || Carries(m) {
				t.Errorf("%s: got %+v, %v", what, got, err)
			}
			continue
		}
		want := m
		want.Rate, want.LoadWorkers, want.NodeMonitorGrace = test.rate, test.workers, test.grace
		if err != nil || got != want {
			t.Errorf("%s:\ngot  %+v, %v\nwant %+v", what, got, err, want)
		}
	}
}

func kill() scenario.Spec {
	return scenario.Spec{
		Name: "chaos/kill", Hold: 15 * time.Second, About: time.Minute, Notes: []string{"Known."}, LoadWorkers: scenario.LoadWorkers{Count: 4, OnWorkers: 1},
		Load: []load.Lane{{Lane: "fresh", Rate: 100}, {Lane: "control", Rate: 20}},
	}.WithDefaults()
}

// A machine that carries everything changes nothing, and neither does one that was not measured.
func TestApplyChangesNothingOnACalmMachine(t *testing.T) {
	for _, f := range []runfolder.Fit{{}, {Cluster: "c", Rate: 1}, {Cluster: "c"}} {
		s := Apply(f, kill())
		if len(s.Notes) != 1 || s.Load[0].Rate != 100 || s.LoadWorkers.Count != 4 || s.Hold != 15*time.Second {
			t.Errorf("%+v: %+v", f, s)
		}
		if was := clusters.Lab.Timings(); Timings(f, was).NodeMonitorGrace != was.NodeMonitorGrace {
			t.Errorf("%+v: %s", f, Timings(f, was).NodeMonitorGrace)
		}
	}
}

func TestApply(t *testing.T) {
	f := runfolder.Fit{Cluster: "c", Processors: 0.25, Rate: 0.5, LoadWorkers: 1, NodeMonitorGrace: 20 * time.Second}
	was := kill()
	s := Apply(f, was)
	if s.Load[0].Rate != 50 || s.Load[1].Rate != 10 || s.LoadWorkers.Count != 2 || s.Hold != 27*time.Second || s.About != 72*time.Second {
		t.Errorf("got %+v", s)
	}
	if was.Load[0].Rate != 100 || len(was.Notes) != 1 {
		t.Error("the scenario that was passed in has changed")
	}
	const want = "The machine gives the nodes 0.25 of a processor beside the cluster: requests are sent at 0.5 of the scenario's rate, so that shorter outages are missed " +
		"(--load-rate changes it), 2 load workers send them (--load-workers changes it) and a node may be silent for 20s instead of 8s (--timings stock changes it)."
	if len(s.Notes) != 2 || s.Notes[1] != want {
		t.Errorf("got  %q\nwant %q", s.Notes, want)
	}
	if got := Timings(f, clusters.Lab.Timings()).NodeMonitorGrace; got != 20*time.Second {
		t.Errorf("the record says that a node may be silent for %s", got)
	}
	stock := kill()
	stock.Cluster.Profile = clusters.Stock
	if s := Apply(f, stock); s.Hold != stock.Hold || Timings(f, clusters.Stock.Timings()).NodeMonitorGrace != 50*time.Second {
		t.Errorf("stock timings have changed: %+v", s)
	}
	brief := kill()
	brief.Hold = 10 * time.Second // as mutants/node-ports-without-health-checks: its requests fail at once, but the node must be lost
	if s := Apply(f, brief); s.Hold != 22*time.Second {
		t.Errorf("a fault until just after the grace period lasts %s", s.Hold)
	}
	short := kill()
	short.Hold = 5 * time.Second // it is over before a loss is noticed
	if s := Apply(f, short); s.Hold != short.Hold {
		t.Errorf("a short fault lasts %s", s.Hold)
	}
}

// What compares answers with those before the first fault gets 150 of them on each lane, within a bound. Nothing else takes longer.
func TestApplyWaitsForEnoughAnswers(t *testing.T) {
	kind := invariant.Kind(invariant.AnswersWithin{})
	for name, test := range map[string]struct {
		rate         float64
		change       func(*scenario.Spec)
		steady, more time.Duration
	}{
		"a quarter":                    {0.25, func(*scenario.Spec) {}, 6 * time.Second, 3 * time.Second},
		"enough as it is":              {0.5, func(*scenario.Spec) {}, 3 * time.Second, 0},
		"calm":                         {1, func(*scenario.Spec) {}, 3 * time.Second, 0},
		"the bound":                    {0.04, func(s *scenario.Spec) { s.Steady = 4 * time.Second }, 30 * time.Second, 26 * time.Second},
		"longer than the bound":        {0.5, func(s *scenario.Spec) { s.Steady = 40 * time.Second }, 40 * time.Second, 0},
		"nothing is compared":          {0.25, func(s *scenario.Spec) { s.Promises = s.Promises[:1] }, 3 * time.Second, 0},
		"no load":                      {0.25, func(s *scenario.Spec) { s.Load = nil }, 3 * time.Second, 0},
		"a mutant that loses requests": {0.25, func(s *scenario.Spec) { s.Mutant = &history.Mutant{CaughtBy: "NoFailedRequests"} }, 3 * time.Second, 0},
		"connections are still opened": {0.5, func(s *scenario.Spec) {
			s.Steady, s.Mutant = time.Second, &history.Mutant{CaughtBy: "NoFailedRequests"}
		}, 3 * time.Second, 2 * time.Second},
		"a mutant that answers slowly":  {0.5, func(s *scenario.Spec) { s.Steady, s.Mutant = time.Second, &history.Mutant{CaughtBy: kind} }, 3 * time.Second, 2 * time.Second},
		"answers on some lanes, slower": {0.25, func(s *scenario.Spec) { s.Promises[1] = invariant.AnswersWithin{Foreign: true, Slowest: time.Minute} }, 6 * time.Second, 3 * time.Second},
	} {
		was := kill()
		was.Promises = []invariant.Invariant{invariant.NoFailedRequests{}, invariant.AnswersWithin{}}
		test.change(&was)
		s := Apply(runfolder.Fit{Cluster: "c", Rate: test.rate}, was)
		if s.Steady != test.steady || s.About != was.About+test.more {
			t.Errorf("%s: %s before the first fault and %s in all, want %s and %s", name, s.Steady, s.About, test.steady, was.About+test.more)
		}
		if noted := strings.Contains(strings.Join(s.Notes, " "), "they flow for "+test.steady.String()+" before the first fault"); noted != (test.more > 0) {
			t.Errorf("%s: notes %q", name, s.Notes)
		}
	}
}
