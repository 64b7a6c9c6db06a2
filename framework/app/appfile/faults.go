package appfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/safety/catalogue"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// Faults are what is done: names such as drain, and where one workload is meant, names such as drain:web, which a file has as {drain: web}.
type Faults []string

// wantedFault says what each of the faults is.
const wantedFault = "the name of a fault such as drain, or with one workload {drain: web}"

// UnmarshalYAML reads a list of names, and of mappings of one name to a workload.
func (f *Faults) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		return fmt.Errorf("line %d, column %d: faults: want a list", n.Line, n.Column)
	}
	for i, one := range n.Content {
		name, workload := nameOf(one)
		if name == nil || name.Kind != yaml.ScalarNode || workload != nil && (workload.Kind != yaml.ScalarNode || workload.Value == "") {
			return fmt.Errorf("line %d, column %d: faults[%d]: want %s", one.Line, one.Column, i, wantedFault)
		}
		text := name.Value
		if workload != nil {
			text += ":" + workload.Value
		}
		*f = append(*f, text)
	}
	return nil
}

// nameOf are the nodes of a fault's name and of its workload, if it has one.
func nameOf(n *yaml.Node) (name, workload *yaml.Node) {
	switch {
	case n.Kind == yaml.ScalarNode:
		return n, nil
	case n.Kind == yaml.MappingNode && len(n.Content) == 2:
		return n.Content[0], n.Content[1]
	}
	return nil, nil
}

// FaultNames are the faults that a file can name. Some are only done to a cluster that is there already, which the file then names.
func FaultNames(existing bool) []string {
	all := apptest.FaultNames()
	if existing {
		all = slices.Concat(all, catalogue.Names())
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// faultsKnown returns an error for each fault of a document that there is not, with its place.
func faultsKnown(root *yaml.Node, existing bool) error {
	names := FaultNames(existing)
	var errs []error
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value != "faults" {
			continue
		}
		seen := map[[2]string]bool{}
		for j, one := range root.Content[i+1].Content {
			name, workload := nameOf(one)
			if name == nil {
				continue
			}
			what := [2]string{name.Value}
			if workload != nil {
				what[1] = workload.Value
			}
			if seen[what] {
				errs = append(errs, fmt.Errorf("line %d, column %d: faults[%d]: %s is there twice", name.Line, name.Column, j, strings.TrimSpace(what[0]+" "+what[1])))
			}
			if seen[what] = true; slices.Contains(names, name.Value) {
				continue
			}
			want := scenario.Wanted(name.Value, names)
			if slices.Contains(catalogue.Names(), name.Value) {
				want = "it is only done to a cluster that is there already, which cluster: {uid: ...} names"
			}
			errs = append(errs, fmt.Errorf("line %d, column %d: faults[%d]: there is no fault %q: %s", name.Line, name.Column, j, name.Value, want))
		}
	}
	return errors.Join(errs...)
}
