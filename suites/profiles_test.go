package suites_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// Every scenario of a profile is also in the suites, so it can be run alone, from the same literal.
func TestProfilesAreOfTheSuites(t *testing.T) {
	named := map[string]scenario.Spec{}
	for _, s := range scenario.All {
		named[s.Name] = s
	}
	var names []string
	for _, p := range scenario.Profiles {
		names = append(names, p.Name)
		for _, s := range p.Scenarios() {
			if _, found := named[s.Name]; !found {
				t.Errorf("profile %s: %s is in no suite", p.Name, s.Name)
			}
		}
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"Core", "Extended"}, names); diff != "" {
		t.Errorf("profiles (-want +got):\n%s", diff)
	}
}

// A certification runs with Kubernetes' own timings. A node must stay away for longer than these need to notice the loss, or
// the fault disrupts nothing and there is no verdict.
func TestProfilesOutlastStockTimings(t *testing.T) {
	noticed := clusters.Stock.Timings().NodeLossNoticed()
	lost := 0
	for _, p := range scenario.Profiles {
		for _, s := range p.Scenarios() {
			if s.Stock {
				s = s.InStock()
			}
			for _, f := range s.Faults {
				switch f.(type) {
				case fault.NodeKill, fault.NodePause, fault.NodeStop, fault.Partition, fault.ZoneOutage:
					lost++
					if s.Hold <= noticed {
						t.Errorf("profile %s: %s holds for %s, and a lost node is noticed after up to %s", p.Name, s.Name, s.Hold, noticed)
					}
				}
			}
		}
	}
	if lost == 0 {
		t.Error("no profile loses a node")
	}
}

// Core runs twice in every certification, and people wait at most a quarter of an hour in addition to the upgrade itself.
func TestCoreIsShort(t *testing.T) {
	const most = 5*time.Minute + 30*time.Second
	for _, p := range scenario.Profiles {
		if p.Name != "Core" {
			continue
		}
		var about time.Duration
		for _, s := range p.Scenarios() {
			about += s.WithDefaults().About
			if s.Full {
				t.Errorf("%s is not of the short profile", s.Name)
			}
		}
		if about == 0 || about > most {
			t.Errorf("Core takes about %s a side, want at most %s", about, most)
		}
	}
}

// What a run with a limited time never leaves out is in the short profile.
func TestWhatTellsMostIsInTheShortProfile(t *testing.T) {
	short, err := scenario.Choose(scenario.All, "short", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	marked := 0
	for _, s := range scenario.MostTellingFirst(short) {
		if s.First {
			marked++
		}
	}
	if marked != len(scenario.First) {
		t.Errorf("%d of %d scenarios that tell most are in the short profile", marked, len(scenario.First))
	}
}
