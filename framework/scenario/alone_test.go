package scenario

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// The promises about time are known by their names.
func TestEachPromiseWithinATimeIsAboutTime(t *testing.T) {
	for _, kind := range invariant.Kinds() {
		if strings.HasSuffix(kind, "Within") && !slices.Contains(aboutTime, kind) {
			t.Errorf("%s is not among the promises about time", kind)
		}
	}
	for _, kind := range aboutTime {
		if !slices.Contains(invariant.Kinds(), kind) {
			t.Errorf("%s is no promise", kind)
		}
	}
}

func TestAlone(t *testing.T) {
	for want, change := range map[string]func(*Spec){
		"":                            func(*Spec) {},
		"drain 1 worker changes more": func(s *Spec) { s.Faults = append(s.Faults, fault.Drain{}) },
		"outside of its namespace":    func(s *Spec) { s.App = &app.App{} },
		"act on every namespace":      func(s *Spec) { s.Addons = []workloads.Addon{nil} },
		"keep the control plane busy": func(s *Spec) { s.Simulated = &Simulated{} },
		"noise of others may break RecoversWithin": func(s *Spec) { s.Mutant.CaughtBy = "RecoversWithin" },
		"its trials fill the nodes":                func(s *Spec) { s.Trials = 20 },
		"belongs to the whole cluster":             func(s *Spec) { s.Backend.NodePort = 30080 },
		"its load workers are themselves":          func(s *Spec) { s.LoadWorkers.OnWorkers = 1 },
		"need the processors for themselves":       func(s *Spec) { s.LoadWorkers.Count = 4 },
		"part of the test, or need":                func(s *Spec) { s.LoadWorkers.CPU = "20m" },
	} {
		s := Spec{Faults: []fault.Fault{fault.Rollout{}}, Load: DefaultLoad, Mutant: &history.Mutant{}}
		change(&s)
		if got := s.Alone(); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
