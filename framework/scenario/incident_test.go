package scenario

import (
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
)

func TestDescribeIncident(t *testing.T) {
	defer func(before []Incident) { Incidents = before }(Incidents)
	Incidents = nil
	broken, mended := Spec{Name: "mutants/a", Mutant: &history.Mutant{}}, Spec{Name: "chaos/a"}
	whole := Incident{
		Incident:  history.Incident{Name: "it-broke", Story: "a", Symptom: "b", Cause: "c", Fix: "d"},
		Scenarios: []Spec{broken, mended},
	}
	if told := DescribeIncident(whole); told.Name != "it-broke" || len(Incidents) != 1 || Incidents[0].Scenarios[1].Name != "chaos/a" {
		t.Errorf("told %+v, and kept %+v", told, Incidents)
	}
	for want, spoil := range map[string]func(*Incident){
		`incident "It broke"`:                 func(i *Incident) { i.Name = "It broke" },
		`incident ""`:                         func(i *Incident) { i.Name = "" },
		"there is one of that name already":   func(i *Incident) { i.Name = "it-broke" },
		"want its story, symptom, cause":      func(i *Incident) { i.Cause = "" },
		"want a mutant that shows it":         func(i *Incident) { i.Scenarios = []Spec{mended} },
		"and a scenario that shows it mended": func(i *Incident) { i.Scenarios = []Spec{broken} },
	} {
		spoilt := whole
		spoilt.Name = "another"
		spoil(&spoilt)
		func() {
			defer func() {
				if err, _ := recover().(error); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("panics with %v, want %q", err, want)
				}
			}()
			DescribeIncident(spoilt)
		}()
	}
	if len(Incidents) != 1 {
		t.Errorf("%d incidents, want the one", len(Incidents))
	}
}
