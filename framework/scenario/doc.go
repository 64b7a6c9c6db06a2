// Package scenario is what an author of scenarios writes: a claim that can be false, with its workload, load, faults and
// promises, as one literal (Spec); a mutant of it (Mutate); an incident that it reproduces (DescribeIncident); and a profile that
// it belongs to (DescribeProfile). Describe registers a scenario, and panics if the literal makes no sense. Choose and ChooseFor select scenarios by
// name, by scope and by the cluster that they fit.
//
// It runs nothing. See package run.
package scenario
