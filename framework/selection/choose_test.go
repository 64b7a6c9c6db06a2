package selection_test

import (
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/framework/selection"
)

func TestScenariosAreChosen(t *testing.T) {
	all := []scenario.Spec{{Name: "chaos/a"}, {Name: "chaos/b", Full: true}, {Name: "mutants/c"}}
	for _, test := range []struct {
		scope string
		names []string
		want  string
	}{
		{"short", nil, "chaos/a mutants/c"},
		{"full", nil, "chaos/a chaos/b mutants/c"},
		{"short", []string{"chaos/b"}, "chaos/b"}, // a named scenario is chosen in any scope
	} {
		chosen, err := selection.Scenarios(all, test.scope, test.names)
		var got []string
		for _, s := range chosen {
			got = append(got, s.Name)
		}
		if err != nil || strings.Join(got, " ") != test.want {
			t.Errorf("Scenarios(%s, %v): %v, %v; want %s", test.scope, test.names, got, err, test.want)
		}
	}
}

func TestProfilesAreNamed(t *testing.T) {
	got, err := selection.Profiles([]scenario.Profile{{Name: "Core"}, {Name: "Extended"}}, []string{"EXTENDED", "core"})
	if err != nil || len(got) != 2 || got[0].Name != "Core" {
		t.Errorf("%v, %v: want both, in the order of their description", got, err)
	}
	if _, err := selection.Profiles([]scenario.Profile{}, nil); err == nil {
		t.Error("no profile at all: no error")
	}
}
