package suites_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// What a profile shows can also be run alone, and the literal is the one that is.
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

// Core is run twice in every certification: a quarter of an hour beside the upgrade itself is what people wait for.
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
