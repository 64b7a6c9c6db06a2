package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// State is the last known state of the cluster. To replay a run, apply its events one by one; before Apply, the state is
// the one in which the event happened.
//
//	state := history.NewState()
//	for _, e := range run.Events {
//		if e.Eviction != nil { ... state.ReadyPods(workload.Pods()) ... }
//		state.Apply(e)
//	}
//
// The maps are read-only for callers. A Deleted event removes its object.
type State struct {
	At        Offset          // T of the last applied event
	Pods      map[string]Pod  // by UID
	Nodes     map[string]Node // by name
	Workloads map[Key]Workload
	Slices    map[Key]Slice
	Budgets   map[Key]Budget

	chosen  map[string]*podSet // by what PodsOf was asked for
	changes Changes            // without those of pods
	changed []string           // the names of the nodes that changed, in order; one that changed twice is here twice
}

// Changes is how often the things have changed that a judgement of a workload depends on. While it stays the same, so does the judgement.
type Changes struct{ Pods, Nodes, Workloads, Slices, Budgets int }

// Changes counts the changes of some pods, and of all nodes, workloads, EndpointSlices and budgets.
func (s *State) Changes(of Choice) Changes {
	c := s.changes
	c.Pods = s.podsOf(of).changes
	return c
}

// Key identifies an object within a cluster and a kind.
type Key struct{ Namespace, Name string }

// NewState returns an empty state.
func NewState() *State {
	return &State{
		Pods: make(map[string]Pod), Nodes: make(map[string]Node), Workloads: make(map[Key]Workload),
		Slices: make(map[Key]Slice), Budgets: make(map[Key]Budget), chosen: make(map[string]*podSet),
	}
}

// NodeChanges counts the changes of all nodes.
func (s *State) NodeChanges() int { return s.changes.Nodes }

// NodesChanged returns the names of the nodes that have changed since NodeChanges returned a number, in order. A node that changed twice is
// in it twice, and one that no longer exists is in it too.
func (s *State) NodesChanged(since int) []string { return s.changed[since:] }

// StateAt returns the state after all events up to and including t.
func (r Run) StateAt(t Offset) *State {
	s := NewState()
	for _, e := range r.Events {
		if e.T > t {
			break
		}
		s.Apply(e)
	}
	return s
}

// Apply applies one event. Events without an object only change At.
func (s *State) Apply(e Event) {
	s.At = e.T
	switch {
	case e.Pod != nil:
		pod := *e.Pod
		if pod.Rules == nil {
			pod.Rules = s.Pods[pod.UID].Rules // only the first event of a pod contains them
		}
		set(s.Pods, pod.UID, pod, pod.Change)
		for _, c := range s.chosen {
			c.take(pod)
		}
	case e.Node != nil:
		s.changes.Nodes++
		s.changed = append(s.changed, e.Node.Name)
		set(s.Nodes, e.Node.Name, *e.Node, e.Node.Change)
	case e.Workload != nil:
		s.changes.Workloads++
		set(s.Workloads, Key{e.Workload.Namespace, e.Workload.Name}, *e.Workload, e.Workload.Change)
	case e.Slice != nil:
		s.changes.Slices++
		set(s.Slices, Key{e.Slice.Namespace, e.Slice.Name}, *e.Slice, e.Slice.Change)
	case e.Budget != nil:
		s.changes.Budgets++
		set(s.Budgets, Key{e.Budget.Namespace, e.Budget.Name}, *e.Budget, e.Budget.Change)
	}
}

func set[K comparable, V any](objects map[K]V, key K, object V, change Change) {
	if change == Deleted {
		delete(objects, key)
	} else {
		objects[key] = object
	}
}

// Selects reports whether labels match a selector of required labels. As in Kubernetes, an empty selector matches everything.
func Selects(selector, labels map[string]string) bool {
	for k, v := range selector {
		if got, ok := labels[k]; !ok || got != v {
			return false
		}
	}
	return true
}

// PodsOf returns the pods of a choice, sorted by name. The first call for a choice looks at all pods, and later ones at those that match:
// promises ask after each event, and a large cluster has more of both than their product allows.
func (s *State) PodsOf(of Choice) []Pod {
	set := s.podsOf(of)
	if set.sorted == nil {
		set.sorted = slices.SortedFunc(maps.Values(set.pods), func(a, b Pod) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID)) })
	}
	return slices.Clone(set.sorted)
}

// podSet has the pods of a choice, by UID.
type podSet struct {
	of      Choice
	pods    map[string]Pod
	sorted  []Pod // nil: the pods have changed since
	changes int
}

// take notes the present state of a pod, which may match now and not later.
func (s *podSet) take(p Pod) {
	if p.Change != Deleted && s.of.Has(&p) {
		s.pods[p.UID] = p
	} else if _, was := s.pods[p.UID]; was {
		delete(s.pods, p.UID)
	} else {
		return
	}
	s.sorted = nil
	s.changes++
}

func (s *State) podsOf(of Choice) *podSet {
	set := s.chosen[of.key]
	if set == nil {
		set = &podSet{of: of, pods: make(map[string]Pod)}
		for _, p := range s.Pods {
			set.take(p)
		}
		s.chosen[of.key] = set
	}
	return set
}

// ReadyPods returns the pods of PodsOf that are ready and not being deleted.
func (s *State) ReadyPods(of Choice) []Pod {
	return slices.DeleteFunc(s.PodsOf(of), func(p Pod) bool { return !p.Ready || p.Deleting })
}

// Owner is the controller of a pod, as the pod's ownerReferences name it: kind and name, such as "ReplicaSet/web-5d4f9". Labels do not say
// whose a pod is: a Job's pods, or those of another Deployment, may have the labels that a workload selects. Empty in older records.
type Owner string

// NoOwner is the Owner of a pod that no controller has made.
const NoOwner Owner = "none"

// OwnerOf is the Owner of a kind and a name.
func OwnerOf(kind, name string) Owner { return Owner(kind + "/" + name) }

// Top is the object that a user wrote: instead of a Deployment's ReplicaSet it is the Deployment. The controller of Deployments names a
// ReplicaSet after the Deployment and the hash of the template, so this is known also when the ReplicaSet no longer exists.
//
// Source: getNewReplicaSet in kubernetes pkg/controller/deployment/sync.go
func (o Owner) Top(labels map[string]string) Owner {
	name, isSet := strings.CutPrefix(string(o), "ReplicaSet/")
	hash := labels["pod-template-hash"] // which the controller of Deployments gives to the pods of each ReplicaSet that it makes
	if name, made := strings.CutSuffix(name, "-"+hash); isSet && made && hash != "" {
		return OwnerOf("Deployment", name)
	}
	return o
}

// Owns reports whether a pod is one of the workload's. In older records, which do not name owners, its labels decide.
func (w Workload) Owns(p *Pod) bool {
	if p.Owner == "" {
		return p.Namespace == w.Namespace && len(w.Selector) > 0 && Selects(w.Selector, p.Labels)
	}
	return p.Namespace == w.Namespace && p.Owner.Top(p.Labels) == OwnerOf(w.Kind(), w.Name)
}

// Choice is a choice of pods.
type Choice struct {
	key string // of equal choices only
	Has func(*Pod) bool
}

// Selected chooses the pods of a namespace that match a selector, as a budget does, of any owner.
func Selected(namespace string, selector map[string]string) Choice {
	return Choice{
		key: fmt.Sprintf("%s %q", namespace, selector), // a map is written in the order of its keys
		Has: func(p *Pod) bool { return p.Namespace == namespace && Selects(selector, p.Labels) },
	}
}

// Pods chooses the pods that the workload owns.
func (w Workload) Pods() Choice {
	return Choice{key: fmt.Sprintf("%s/%s/%s %q", w.Namespace, w.Kind(), w.Name, w.Selector), Has: w.Owns}
}

// Kind is the workload's kind, as the API spells it.
func (w Workload) Kind() string {
	switch {
	case w.StatefulSet:
		return "StatefulSet"
	case w.DaemonSet:
		return "DaemonSet"
	}
	return "Deployment"
}
