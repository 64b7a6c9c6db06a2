package scenario

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/errtest"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/workloads"
)

// good is a spec with nothing wrong.
func good() Spec {
	return Spec{
		Name: "chaos/example", Claim: "an example holds", Load: DefaultLoad,
		Faults: []fault.Fault{fault.Rollout{}}, Promises: []invariant.Invariant{invariant.NoFailedRequests{}},
	}.WithDefaults()
}

func TestSpecValidate(t *testing.T) {
	for _, test := range []struct {
		want  string // in the error; empty: none
		spoil func(*Spec)
	}{
		{"", func(*Spec) {}},
		{"", func(s *Spec) { s.PinTo, s.NodePorts, s.Backend.NodePort, s.Gateway = 6, 6, 30080, &workloads.Gateway{} }},
		{"no claim", func(s *Spec) { s.Claim = "" }},
		{"no promises, so nothing could fail", func(s *Spec) { s.Promises = nil }},
		{"no faults, so nothing is tried", func(s *Spec) { s.Faults = nil }},
		{"node ports without a gateway to use them", func(s *Spec) { s.NodePorts, s.Backend.NodePort = 2, 30080 }},
		{"node ports, and the backend has none", func(s *Spec) { s.NodePorts, s.Gateway = 2, &workloads.Gateway{} }},
		{"it wants worker 7, and its cluster has 6", func(s *Spec) { s.PinTo = 7 }},
		{"it wants worker 8, and its cluster has 6", func(s *Spec) {
			s.NodePorts, s.Backend.NodePort, s.Gateway = 8, 30080, &workloads.Gateway{}
		}},
		{"a number or a time is negative", func(s *Spec) { s.PinTo = -1 }},
		{"a number or a time is negative", func(s *Spec) { s.NodePorts = -1 }},
		{"a number or a time is negative", func(s *Spec) { s.LoadWorkers.OnWorkers = -1 }},
		{"it wants worker 7, and its cluster has 6", func(s *Spec) { s.LoadWorkers.OnWorkers = 7 }},
		{"load workers on workers, and no load", func(s *Spec) { s.Load, s.LoadWorkers.OnWorkers = nil, 2 }},
		{"", func(s *Spec) { s.LoadWorkers.OnWorkers = 2 }},
		{"a number or a time is negative", func(s *Spec) { s.Steady = -1 }},
		{"a number or a time is negative", func(s *Spec) { s.Recovered = -1 }},
		{"a number or a time is negative", func(s *Spec) { s.Hold = -1 }},
		{"a number or a time is negative", func(s *Spec) { s.About = -1 }},
		{"a number or a time is negative", func(s *Spec) { s.Load, s.Trials = nil, -1 }},
		{"a number or a time is negative", func(s *Spec) { s.SchedulableReplicas = -1 }},
		{"", func(s *Spec) { s.Load, s.Trials = nil, 20 }},
		{"trials share no load, gateway or node port", func(s *Spec) { s.Trials = 20 }},
		{"trials share no load, gateway or node port", func(s *Spec) { s.Load, s.Trials, s.Gateway = nil, 20, &workloads.Gateway{} }},
		{"", func(s *Spec) { s.Load, s.Trials, s.StatefulSets = nil, 20, 20 }},
		{"a number or a time is negative", func(s *Spec) { s.Load, s.Trials, s.StatefulSets = nil, 20, -1 }},
		{"21 of 20 trials are StatefulSets", func(s *Spec) { s.Load, s.Trials, s.StatefulSets = nil, 20, 21 }},
		{"1 of 0 trials are StatefulSets", func(s *Spec) { s.StatefulSets = 1 }},
		{"some trials are StatefulSets, and all are", func(s *Spec) {
			s.Load, s.Trials, s.StatefulSets, s.Backend.StatefulSet = nil, 20, 1, true
		}},
		{"", func(s *Spec) { s.Load, s.Trials, s.Backend.Strategy.MaxSurge = nil, 20, "1" }},
		{"backend backend-20: strategy: a StatefulSet replaces its pods one by one", func(s *Spec) {
			s.Load, s.Trials, s.StatefulSets, s.Backend.Strategy.MaxSurge = nil, 20, 1, "1"
		}},
		{"kill etcd's leader needs 2 control planes, and its cluster has 1", func(s *Spec) { s.Faults = []fault.Fault{fault.EtcdLeaderKill{}} }},
		{"", func(s *Spec) { s.Faults, s.Cluster.ControlPlanes = []fault.Fault{fault.ControlPlaneKill{}}, 2 }},
		{"zones: none", func(s *Spec) { s.Cluster = clusters.Spec{} }},
		{"profile \"x\"", func(s *Spec) { s.Cluster.Profile = "x" }},
		{"backend backend: -1 replicas", func(s *Spec) { s.Backend.Replicas = -1 }},
		{"gateway gateway: -1 replicas", func(s *Spec) { s.Gateway = &workloads.Gateway{Replicas: -1} }},
		{"", func(s *Spec) { s.Addons = []workloads.Addon{workloads.Descheduler{}} }},
		{"descheduler: a round every 1ns", func(s *Spec) { s.Addons = []workloads.Addon{workloads.Descheduler{Every: 1}} }},
		{"descheduler twice", func(s *Spec) {
			s.Addons = []workloads.Addon{workloads.Descheduler{}, workloads.Descheduler{Soft: true}}
		}},
		{"lane websocket: the gateway forwards HTTP requests only", func(s *Spec) {
			s.Gateway, s.Load = &workloads.Gateway{}, []load.Lane{{Lane: load.LaneH2C, Rate: 1}, {Lane: load.LaneSocket, Rate: 1}}
		}},
		{`lane "fresh": rate 0 is not between`, func(s *Spec) { s.Load = []load.Lane{{Lane: history.LaneFresh}} }},
		{`two lanes are named "fresh"`, func(s *Spec) { s.Load = []load.Lane{DefaultLoad[0], DefaultLoad[0]} }},
		{`target "ftp://x" is no http URL`, func(s *Spec) {
			s.Load = []load.Lane{{Lane: history.LaneFresh, Rate: 1, Target: "ftp://x"}}
		}},
	} {
		s := good()
		test.spoil(&s)
		err := s.Validate()
		errtest.Check(t, err, test.want)
		if err != nil && !strings.HasPrefix(err.Error(), "scenario chaos/example: ") {
			t.Errorf("which scenario is it? %v", err)
		}
	}
}

// A name is a folder of the record and a namespace in the cluster.
func TestNames(t *testing.T) {
	long := "chaos/" + strings.Repeat("x", 63-len("hf-chaos-"))
	for _, name := range []string{"chaos/example", "a/b", "chaos/drain-2-workers", "in-ci/k8s", long} {
		s := good()
		s.Name = name
		errtest.Check(t, s.Validate(), "")
		if problems := validation.IsDNS1123Label(s.Namespace()); len(problems) > 0 {
			t.Errorf("%s: its namespace %s: %s", name, s.Namespace(), problems[0])
		}
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			t.Errorf("%s leads out of the run's folder", name)
		}
	}
	for _, name := range []string{
		"", "example", "chaos/", "/example", "/", "chaos/a/b", "Chaos/example", "chaos/two words", "chaos/two_words", "chaos/ex.ample",
		"../example", "chaos/..", "chaos/-example", "chaos/example-", "chaos/a--b", "chaos/ä", "chaos/example\n",
	} {
		s := good()
		s.Name = name
		errtest.Check(t, s.Validate(), fmt.Sprintf("scenario %q: want a name such as chaos/drain-one-worker", name))
	}
	s := good()
	s.Name = long + "x"
	errtest.Check(t, s.Validate(), "its namespace would have 64 characters, and 63 is the most")
}

// described runs f with an empty list of scenarios and returns what it described.
func described(t *testing.T, f func()) []Spec {
	t.Helper()
	before := All
	All = nil
	defer func() { All = before }()
	f()
	return All
}

func TestDescribeAddsTheStockVariant(t *testing.T) {
	specs := described(t, func() {
		s := good()
		s.Stock = true
		Describe(s)
	})
	if len(specs) != 2 {
		t.Fatalf("%d scenarios, want the lab and the stock one", len(specs))
	}
	lab, stock := specs[0], specs[1]
	if lab.Full || lab.Cluster.Profile == clusters.Stock {
		t.Errorf("the lab variant: %+v", lab)
	}
	if stock.Name != "chaos/example-stock" || !stock.Full || stock.Cluster.Profile != clusters.Stock {
		t.Errorf("the stock variant: %+v", stock)
	}
}

// A twin waits for as much longer as a lost node is noticed later; one that asks for those timings anyway has no twin.
func TestTheStockVariantHasItsTime(t *testing.T) {
	specs := described(t, func() {
		s := good()
		s.Stock, s.Hold, s.About = true, 25*time.Second, 80*time.Second
		Describe(s)
		s.Name, s.Cluster.Profile = "chaos/stock-only", clusters.Stock
		Describe(s)
	})
	// 50 s of grace and twice a look every 5 s, instead of 8 s and twice 1 s.
	const later = 60*time.Second - 10*time.Second
	var got []string
	for _, s := range specs {
		got = append(got, fmt.Sprintf("%s %s, about %s", s.Name, s.Hold, s.About))
	}
	want := []string{
		"chaos/example 25s, about 1m20s", fmt.Sprintf("chaos/example-stock %s, about %s", 25*time.Second+later, 80*time.Second+later),
		"chaos/stock-only 25s, about 1m20s",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDescribeRefusesASecondOfTheSameName(t *testing.T) {
	described(t, func() {
		Describe(good())
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		Describe(good())
	})
}

func TestMutate(t *testing.T) {
	specs := described(t, func() {
		s := good()
		s.Gateway = &workloads.Gateway{}
		twin := Describe(s)
		Mutate(twin, Mutation{
			Name: "mutants/example", Removed: "a practice", CaughtBy: invariant.NoFailedRequests{},
			Cause: attribution.CauseLateEndpoint,
			Break: func(s *Spec) { s.Backend.PreStop, s.Gateway.MaxTries = workloads.NoPreStop, 1 },
		})
	})
	twin, mutant := specs[0], specs[1]
	want := &history.Mutant{
		Removed: "a practice", CaughtBy: "NoFailedRequests", Twin: "chaos/example", Cause: "late-endpoint",
		Params: json.RawMessage("{}"), Lanes: []history.Lane{history.LaneFresh, history.LaneReused},
	}
	if diff := cmp.Diff(want, mutant.Mutant); diff != "" {
		t.Errorf("mutant (-want +got):\n%s", diff)
	}
	if mutant.Backend.PreStop != workloads.NoPreStop || mutant.Gateway.MaxTries != 1 {
		t.Errorf("the practice is still there: %+v %+v", mutant.Backend, mutant.Gateway)
	}
	if twin.Backend.PreStop != 0 || twin.Gateway.MaxTries != 0 || twin.Mutant != nil {
		t.Errorf("breaking the mutant broke its twin: %+v %+v", twin.Backend, twin.Gateway)
	}
}

// A mutant of the short profile has as much time to be caught in as the fault takes, and less before and after it than
// its twin; unless it says so itself, or its twin takes less already. In the full profile nothing is gained by that.
func TestAMutantOfTheShortProfileIsNotWatchedForLong(t *testing.T) {
	for name, test := range map[string]struct {
		twin              func(*Spec)
		breaks            func(*Spec)
		steady, recovered time.Duration
	}{
		"short":               {func(*Spec) {}, func(*Spec) {}, time.Second, 2 * time.Second},
		"full":                {func(s *Spec) { s.Full = true }, func(*Spec) {}, 3 * time.Second, 5 * time.Second},
		"a twin that is fast": {func(s *Spec) { s.Steady, s.Recovered = 1, 2 }, func(*Spec) {}, 1, 2},
		"a mutant that wants": {func(*Spec) {}, func(s *Spec) { s.Recovered = time.Minute }, time.Second, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			specs := described(t, func() {
				s := good()
				s.Hold = 20 * time.Second
				test.twin(&s)
				Mutate(Describe(s), Mutation{Name: "mutants/example", Removed: "a practice", CaughtBy: invariant.NoFailedRequests{}, Cause: attribution.CauseLateEndpoint, Break: test.breaks})
			})
			twin, mutant := specs[0], specs[1]
			if mutant.Steady != test.steady || mutant.Recovered != test.recovered || mutant.Hold != twin.Hold {
				t.Errorf("steady %s, hold %s, recovered %s; want %s, %s, %s",
					mutant.Steady, mutant.Hold, mutant.Recovered, test.steady, twin.Hold, test.recovered)
			}
		})
	}
}

// Whatever Break does to the mutant, its twin and every other scenario stay as they are; and of a twin with a stock
// variant there is one mutant.
func TestBreakingAMutantBreaksNothingElse(t *testing.T) {
	whole := func() Spec {
		s := good()
		s.Load = append([]load.Lane(nil), DefaultLoad...)
		s.Stock, s.Gateway = true, &workloads.Gateway{Upstreams: []string{"10.0.0.1:80"}}
		s.Cluster.PerWorker = map[string][]string{"rack": {"r1"}}
		s.Backend.Spread = []workloads.Spread{{Key: workloads.Zone, MaxSkew: 1}}
		s.Backend.NodeSelector = map[string]string{"disk": "fast"}
		s.Promises = append(s.Promises, invariant.Spread{TopologyKey: "zone", Max: 1})
		return s
	}
	specs := described(t, func() {
		twin := Describe(whole())
		Mutate(twin, Mutation{Name: "mutants/example", Removed: "all", CaughtBy: invariant.NoFailedRequests{}, Cause: attribution.CauseLateEndpoint, Break: func(s *Spec) {
			s.Load[0].Rate, s.Faults[0], s.Promises[1] = 1, fault.PodDelete{Count: 1}, invariant.Spread{TopologyKey: "host", Max: 9}
			s.Cluster.Zones[0], s.Cluster.PerWorker["rack"][0] = "z", "r9"
			s.Backend.Spread[0].MaxSkew, s.Backend.NodeSelector["disk"] = 9, "slow"
			s.Gateway.Upstreams[0] = "10.0.0.9:80"
		}})
	})
	if len(specs) != 3 || specs[2].Name != "mutants/example" {
		t.Fatalf("described: %d scenarios", len(specs))
	}
	if diff := cmp.Diff(whole(), specs[0]); diff != "" {
		t.Errorf("the twin (-want +got):\n%s", diff)
	}
	if specs[2].Load[0].Rate != 1 || specs[2].Gateway.Upstreams[0] != "10.0.0.9:80" {
		t.Errorf("the mutant is whole: %+v", specs[2])
	}
}

// A mutant that names what its twin does not promise, or what is left of it does not, can be caught by nothing.
func TestMutateRefusesWhatCannotBeCaught(t *testing.T) {
	twin := good()
	twin.Promises = append(twin.Promises, invariant.Spread{TopologyKey: "zone", Max: 1}, invariant.Spread{TopologyKey: "host", Max: 1})
	nothing := func(*Spec) {}
	for want, m := range map[string]Mutation{
		"its twin does not promise Placed {":                     {CaughtBy: invariant.Placed{}, Break: nothing},
		"or makes several promises of that kind":                 {CaughtBy: invariant.Spread{}, Break: nothing},
		`promise Spread {"topologyKey":"zone","max":2}`:          {CaughtBy: invariant.Spread{TopologyKey: "zone", Max: 2}, Break: nothing},
		"it does not promise NoFailedRequests {} any more":       {CaughtBy: invariant.NoFailedRequests{}, Break: func(s *Spec) { s.Promises = s.Promises[1:] }},
		"lane grpc has no load, or NoFailedRequests does not":    {CaughtBy: invariant.NoFailedRequests{}, Lanes: []history.Lane{load.LaneGRPC}, Break: nothing},
		"lane control has no load, or NoFailedRequests does not": {CaughtBy: invariant.NoFailedRequests{}, Lanes: []history.Lane{history.LaneControl}, Break: nothing},
		`harness true, doubt ""`:                                 {CaughtBy: invariant.NoFailedRequests{}, Harness: true, Break: nothing},
		"harness false, doubt":                                   {CaughtBy: invariant.NoFailedRequests{}, Doubt: judge.DoubtStarvedWorker, Break: nothing},
		`no cause, and the reason ""`:                            {CaughtBy: invariant.NoFailedRequests{}, Break: nothing},
		`no cause, and the reason "bad luck"`:                    {CaughtBy: invariant.NoFailedRequests{}, Reason: "bad luck", Break: nothing},
		`doubt "spleen"`:                                         {CaughtBy: invariant.NoFailedRequests{}, Harness: true, Doubt: "spleen", Break: nothing},
	} {
		func() {
			defer func() {
				if r := recover(); r == nil || !strings.Contains(r.(string), want) {
					t.Errorf("got %v, want a panic with %q", r, want)
				}
			}()
			m.Name = "mutants/example"
			Mutate(twin, m)
		}()
	}
}

// What is stored of a mutant is all that is needed to judge it again: its promise with the parameters, and its lanes.
func TestMutateStoresWhatItIsCaughtBy(t *testing.T) {
	twin := good()
	twin.Load = []load.Lane{{Lane: history.LaneReused, Rate: 1}, {Lane: history.LaneFresh, Rate: 1}, {Lane: history.LaneControl, Rate: 1}}
	twin.Promises = append(twin.Promises, invariant.Spread{TopologyKey: "zone", Max: 1})
	described(t, func() {
		all := Mutate(twin, Mutation{Name: "mutants/all", Removed: "a", CaughtBy: invariant.NoFailedRequests{}, Cause: attribution.CauseLateEndpoint, Break: func(s *Spec) {
			s.Backend.AtTerm = workloads.Drop
		}}).Mutant
		want := history.Mutant{
			Removed: "a", CaughtBy: "NoFailedRequests", Params: json.RawMessage("{}"), Twin: twin.Name, Cause: "late-endpoint", Trap: true,
			Lanes: []history.Lane{history.LaneFresh, history.LaneReused},
		}
		if diff := cmp.Diff(want, *all); diff != "" {
			t.Errorf("every lane (-want +got):\n%s", diff)
		}
		one := Mutate(twin, Mutation{Name: "mutants/one", CaughtBy: invariant.NoFailedRequests{}, Lanes: []history.Lane{history.LaneFresh},
			Cause: attribution.CauseLateEndpoint, ByChance: true, Break: func(*Spec) {}}).Mutant
		if len(one.Lanes) != 1 || one.Lanes[0] != history.LaneFresh || !one.ByChance || one.Trap {
			t.Errorf("one lane: %+v", one)
		}
		spread := Mutate(twin, Mutation{Name: "mutants/spread", CaughtBy: invariant.Spread{}, Reason: judge.HasNodes, Break: func(*Spec) {}}).Mutant
		if string(spread.Params) != `{"topologyKey":"zone","max":1}` || len(spread.Lanes) != 0 || spread.Reason != "has-nodes" {
			t.Errorf("the only one of its kind: %+v", spread)
		}
	})
}
