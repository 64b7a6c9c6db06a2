package catalogue

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/fault/journal"
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

	// changes are the changes that the journal makes for it, of objects that stand for those of a cluster.
	changes []journal.Change
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
func (f Fault) Inject() (all []Right) {
	for _, c := range f.changes {
		do, _ := c.Needs()
		all = append(all, fromJournal(do)...)
	}
	return Distinct(all)
}

// Undo are the rights that are needed to undo it.
func (f Fault) Undo() (all []Right) {
	for _, c := range f.changes {
		_, undo := c.Needs()
		all = append(all, fromJournal(undo)...)
	}
	return Distinct(all)
}

// fromJournal are permissions about the objects of changes as rights about every object of their kinds.
func fromJournal(permissions []journal.Permission) (all []Right) {
	for _, p := range permissions {
		where := cmp.Or(Where(p.Object.Namespace), Everywhere)
		all = append(all, Right{Where: where, Verb: p.Verb, Group: p.Object.Group, Resource: p.Object.Resource, Subresource: p.Object.Subresource})
	}
	return all
}

// some is the name of an object that stands for those of a cluster.
const some = "some"

// workloads are what stands for a Deployment and for a StatefulSet of the application.
func workloads() []journal.Object {
	return []journal.Object{journal.Workload("deployments", string(App), some), journal.Workload("statefulsets", string(App), some)}
}

// evictions are what stands for the eviction of a pod in some places.
func evictions(places ...Where) (all []journal.Change) {
	for _, where := range places {
		all = append(all, journal.EvictPod(string(where), some, some))
	}
	return all
}
