package scenario

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/invariant"
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
	for want, spoil := range map[string]func(*Spec){
		"":              func(*Spec) {},
		"want a name":   func(s *Spec) { s.Name = "Example" },
		"want a name ":  func(s *Spec) { s.Name = "chaos/two words" },
		"no claim":      func(s *Spec) { s.Claim = "" },
		"no promises":   func(s *Spec) { s.Promises = nil },
		"no faults":     func(s *Spec) { s.Faults = nil },
		"node ports":    func(s *Spec) { s.NodePorts = 2 },
		"zones: none":   func(s *Spec) { s.Cluster = clusters.Spec{} },
		"profile \"x\"": func(s *Spec) { s.Cluster.Profile = "x" },
	} {
		s := good()
		spoil(&s)
		err := s.Validate()
		if want == "" {
			if err != nil {
				t.Errorf("a good spec: %v", err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
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
			Break: func(s *Spec) { s.Backend.PreStop, s.Gateway.MaxTries = workloads.NoPreStop, 1 },
		})
	})
	twin, mutant := specs[0], specs[1]
	want := &history.Mutant{Removed: "a practice", CaughtBy: "NoFailedRequests", Twin: "chaos/example"}
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

func TestMutateWantsAPromiseOfTheTwin(t *testing.T) {
	defer func() {
		if r := recover(); r == nil || !strings.Contains(r.(string), "does not promise Spread") {
			t.Errorf("got %v, want a panic that names Spread", r)
		}
	}()
	Mutate(good(), Mutation{Name: "mutants/example", CaughtBy: invariant.Spread{}, Break: func(*Spec) {}})
}

func TestDecide(t *testing.T) {
	verdict := func(kind string, o invariant.Outcome) invariant.Verdict {
		return invariant.Verdict{Kind: kind, Promise: kind, Outcome: o, Seen: string(o)}
	}
	held, violated, unknown := verdict("Spread", invariant.Held), verdict("Spread", invariant.Violated), verdict("Spread", invariant.Unknown)
	mutant := &history.Mutant{CaughtBy: "Spread", Removed: "spreading"}
	for name, test := range map[string]struct {
		mutant   *history.Mutant
		verdicts []invariant.Verdict
		want     invariant.Outcome
	}{
		"all held":                     {nil, []invariant.Verdict{held, held}, invariant.Held},
		"one violated":                 {nil, []invariant.Verdict{held, unknown, violated}, invariant.Violated},
		"one unknown":                  {nil, []invariant.Verdict{held, unknown}, invariant.Unknown},
		"nothing judged":               {nil, nil, invariant.Unknown},
		"a mutant caught":              {mutant, []invariant.Verdict{violated}, invariant.Held},
		"a mutant missed":              {mutant, []invariant.Verdict{held}, invariant.Violated},
		"a mutant without evidence":    {mutant, []invariant.Verdict{unknown}, invariant.Unknown},
		"a mutant not judged":          {mutant, nil, invariant.Unknown},
		"caught by something else":     {mutant, []invariant.Verdict{held, verdict("BudgetHonoured", invariant.Violated)}, invariant.Violated},
		"unknown elsewhere is no harm": {mutant, []invariant.Verdict{violated, verdict("BudgetHonoured", invariant.Unknown)}, invariant.Held},
	} {
		if got, _ := Decide(test.mutant, test.verdicts); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestOutcomeOf(t *testing.T) {
	file := func(outcomes ...string) history.RunFile {
		var f history.RunFile
		for _, o := range outcomes {
			f.Scenarios = append(f.Scenarios, history.ScenarioResult{Outcome: o})
		}
		return f
	}
	for want, files := range map[invariant.Outcome][]history.RunFile{
		invariant.Held:     {file("held"), file("held", "held")},
		invariant.Violated: {file("held", "violated"), file("", "violated"), file("violated", "unknown")},
		invariant.Unknown:  {file(), file("held", ""), file("unknown", "held"), file("perhaps")},
	} {
		for _, f := range files {
			if got := OutcomeOf(f); got != want {
				t.Errorf("%+v: %s, want %s", f.Scenarios, got, want)
			}
		}
	}
}

func TestFinishListsWhatWasNotBegun(t *testing.T) {
	dir := t.TempDir()
	r := &run{settings: &Settings{Dir: dir}}
	r.file.Scenarios = []history.ScenarioResult{{Name: "chaos/example", Outcome: "held"}}
	other := good()
	other.Name = "chaos/other"
	if err := r.finish([]Spec{good(), other}); err != nil {
		t.Fatal(err)
	}
	read, err := history.ReadRunFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(read.Scenarios) != 2 || read.Scenarios[1].Error == "" || read.Outcome != "unknown" || !Failed(read) {
		t.Errorf("run.json: %+v", read)
	}
}

func TestRegisterGroupsByCluster(t *testing.T) {
	lab, stock := good(), good()
	stock.Cluster.Profile = clusters.Stock
	explicit := good()
	explicit.Cluster.Profile, explicit.Cluster.ControlPlanes = clusters.Lab, 1 // the defaults, written out
	specs := []Spec{lab, stock, explicit}
	if a, b, c := clusterRank(specs, lab), clusterRank(specs, stock), clusterRank(specs, explicit); a != c || a == b {
		t.Errorf("ranks %d, %d, %d: want the first and the third alike", a, b, c)
	}
}

func TestClusterNameIsShort(t *testing.T) {
	s := Settings{Started: time.Unix(1_800_000_000, 0)}
	if one, two := s.clusterName(1), s.clusterName(2); len(one) != 6 || two != one+"-2" {
		t.Errorf("names %q, %q", one, two)
	}
}
