package scenario

import (
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// Incident is a real outage that can be reproduced on one machine, with its fix. Its scenarios prove it: mutants show the
// symptom, and scenarios with the same workload show the fix.
type Incident struct {
	history.Incident
	Scenarios []Spec // in the order in which to read them
}

// Incidents are all incidents described so far.
var Incidents []Incident

// DescribeIncident adds an incident to Incidents. It panics if the incident proves nothing, which is a mistake in the source.
func DescribeIncident(i Incident) Incident {
	if err := i.validate(); err != nil {
		panic(err)
	}
	Incidents = append(Incidents, i)
	return i
}

func (i Incident) validate() error {
	broken := func(s Spec) bool { return s.Mutant != nil }
	mended := func(s Spec) bool { return s.Mutant == nil }
	switch {
	case !namePattern.MatchString("incidents/" + i.Name):
		return fmt.Errorf("incident %q: want a name such as maintenance-took-us-out", i.Name)
	case slices.ContainsFunc(Incidents, func(other Incident) bool { return other.Name == i.Name }):
		return fmt.Errorf("incident %s: there is one of that name already", i.Name)
	case i.Story == "" || i.Symptom == "" || i.Cause == "" || i.Fix == "":
		return fmt.Errorf("incident %s: want its story, symptom, cause and fix", i.Name)
	case !slices.ContainsFunc(i.Scenarios, broken) || !slices.ContainsFunc(i.Scenarios, mended):
		return fmt.Errorf("incident %s: want a mutant that shows it, and a scenario that shows it mended", i.Name)
	}
	return nil
}
