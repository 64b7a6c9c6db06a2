package catalogue

import (
	"fmt"
	"slices"
	"strings"
)

// Fault is something that holdfast can do to a cluster that it did not make.
type Fault struct {
	// Name is the fault's name in holdfast.yaml and after --faults.
	Name string
	// Does says what is done, and Undone how it is undone.
	Does, Undone string
	// EndsPods: pods end, and their replacements must be able to start (rule 8).
	EndsPods bool
	// Evicts: pods are evicted, one by one and by the eviction API.
	Evicts bool
	// OnNode: a node is changed, and with it every pod on it.
	OnNode bool
	// Edits is the field of the workload's spec that is changed; empty: none is.
	Edits string
	// ByHook: a command of the user's own does it (rule 22).
	ByHook bool
	// Inject and Undo are the rights that are needed to do it and to undo it. They are asked for before anything is done (rule 5).
	Inject, Undo []Right
}

// The API groups that faults change.
const (
	Apps   = "apps"
	Policy = "policy"
)

// Faults are all faults, in the order in which help texts list them.
var Faults = []Fault{Rollout, DeletePod, Scale, Drain, Cordon, NodeKill}

// Defaults are the faults of a file that names none: what needs no right on nodes.
var Defaults = []string{Rollout.Name, DeletePod.Name, Scale.Name}

// Names are the names of Faults.
func Names() (all []string) {
	for _, f := range Faults {
		all = append(all, f.Name)
	}
	return all
}

// Named are the faults of some names, in the order of the names. The error lists the names that there are.
func Named(names []string) (all []Fault, err error) {
	for _, name := range names {
		i := slices.IndexFunc(Faults, func(f Fault) bool { return f.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("fault %q: on a cluster that holdfast did not make, want one of %s", name, strings.Join(Names(), ", "))
		}
		if slices.ContainsFunc(all, func(f Fault) bool { return f.Name == name }) {
			return nil, fmt.Errorf("fault %q: it is named twice", name)
		}
		all = append(all, Faults[i])
	}
	return all, nil
}
