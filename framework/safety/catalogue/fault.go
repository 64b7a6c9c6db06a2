package catalogue

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/judge/analysis/disturbances"
)

// Fault is something that holdfast can do to a cluster that it did not make.
type Fault struct {
	// Name is the fault's name in holdfast.yaml and after --faults.
	Name string
	// Does says what is done.
	Does string
	// EndsPods: pods end, and their replacements must be able to start (rule 8).
	EndsPods bool
	// Evicts: pods are evicted, one by one and by the eviction API.
	Evicts bool
	// OnNode: a node is changed, and with it every pod on it.
	OnNode bool
	// Edits is the field of the workload's spec that is changed; empty: none is.
	Edits string
	// Seen are the kinds of disturbances as which the watches may see it.
	Seen []disturbances.Kind
	// ByHook: a command of the user's own does it (rule 22).
	ByHook bool

	// injects and undoes are the rights of its own writes and of their undo, with the reads that those need.
	injects, undoes []Right
}

// The API groups of workloads and of budgets.
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

// Inject are the rights that are needed to do it, and Undo those to undo it. They are asked for before anything is done (rule 5).
func (f Fault) Inject() []Right { return f.injects }

// Undo are the rights that are needed to undo it: who undoes finds the notes by listing.
func (f Fault) Undo() []Right { return f.undoes }

// edits are the rights to change a field of the application's workloads, and to put it back.
var (
	edits     = rights(App, Apps, "deployments statefulsets", "get patch")
	putsBack  = rights(App, Apps, "deployments statefulsets", "get list patch")
	notes     = rights(Everywhere, "", "nodes", "get patch")
	takesBack = rights(Everywhere, "", "nodes", "get list patch")
)

// evictions are the rights to evict pods in some places. Nothing has to be undone: their controllers make others.
func evictions(places ...Where) (all []Right) {
	for _, where := range places {
		all = append(all, rights(where, "", "pods", "get")...)
		all = append(all, rights(where, "", "pods/eviction", "create")...)
	}
	return all
}
