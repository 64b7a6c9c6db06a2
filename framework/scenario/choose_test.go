package scenario_test

import (
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/scenario"
)

func TestScenariosAreChosen(t *testing.T) {
	all := []scenario.Spec{{Name: "chaos/a"}, {Name: "chaos/b", Full: true}, {Name: "mutants/c"}}
	for _, test := range []struct {
		scope         string
		names, labels []string
		want          string
	}{
		{"short", nil, nil, "chaos/a mutants/c"},
		{"full", nil, nil, "chaos/a chaos/b mutants/c"},
		{"short", []string{"chaos/b"}, nil, "chaos/b"}, // a named scenario is chosen in any scope
		{"short", []string{"chaos/*"}, nil, "chaos/a chaos/b"},
		{"short", []string{"*/[ac]"}, nil, "chaos/a mutants/c"},
		{"full", nil, []string{"chaos", "full"}, "chaos/b"},
		{"short", []string{"chaos/*"}, []string{"short"}, "chaos/a"},
	} {
		chosen, err := scenario.Choose(all, test.scope, test.names, test.labels)
		var got []string
		for _, s := range chosen {
			got = append(got, s.Name)
		}
		if err != nil || strings.Join(got, " ") != test.want {
			t.Errorf("Scenarios(%s, %v): %v, %v; want %s", test.scope, test.names, got, err, test.want)
		}
	}
}

// What selects no scenario is refused, with a name or label that may have been meant.
func TestScenariosThatDoNotExist(t *testing.T) {
	all := []scenario.Spec{{Name: "chaos/rolling-update"}, {Name: "mutants/c", Full: true}}
	for _, test := range []struct {
		names, labels []string
		want          string
	}{
		{[]string{"chaos/rolling-updat"}, nil, "did you mean chaos/rolling-update?"},
		{[]string{"drain-*"}, nil, "unknown scenario"},
		{[]string{"chaos/["}, nil, "unknown scenario"},
		{nil, []string{"caos"}, "did you mean chaos?"},
		{nil, []string{"weekly"}, "want one of chaos, full, mutants, short"},
		{nil, []string{"mutants"}, "no scenario of those has the labels mutants"}, // not in the scope short
	} {
		if chosen, err := scenario.Choose(all, "short", test.names, test.labels); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v %v: %v, %v; want %s", test.names, test.labels, chosen, err, test.want)
		}
	}
}

func TestProfilesAreNamed(t *testing.T) {
	got, err := scenario.FindProfiles([]scenario.Profile{{Name: "Core"}, {Name: "Extended"}}, []string{"EXTENDED", "core"})
	if err != nil || len(got) != 2 || got[0].Name != "Core" {
		t.Errorf("%v, %v: want both, in the order of their description", got, err)
	}
	if _, err := scenario.FindProfiles([]scenario.Profile{}, nil); err == nil {
		t.Error("no profile at all: no error")
	}
}
