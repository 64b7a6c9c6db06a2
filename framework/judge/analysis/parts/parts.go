package parts

import (
	"cmp"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/spread"
)

// Part is what belongs together in a recording.
type Part struct {
	// Name is that of its first workload, "shop/checkout", and of how many others; without a workload that of its namespace.
	Name string
	// Workloads and Services are sorted by name.
	Workloads, Services []history.Key

	events []int32 // indices of the record's events
}

// Parts are the parts of a record. No events are copied before Events is called.
type Parts struct {
	// All are the parts that ever had a pod, sorted by name.
	All []*Part

	run    history.Run
	common common           // to every part: nodes, gaps, noise and so on
	byPod  map[string]*Part // by UID
}

// Of splits a record.
func Of(run history.Run) *Parts { return split(run, groupsOf(run.Events)) }

// OfRules splits a record in such a way that pods whose scheduling rules are about each other are in one part. Its parts are those of Of,
// some of them joined.
func OfRules(run history.Run) *Parts {
	groups := groupsOf(run.Events)
	groups.joinByRules(run.Events)
	return split(run, groups)
}

func split(run history.Run, groups *groups) *Parts {
	s := &Parts{run: run, common: newCommon(), byPod: make(map[string]*Part)}
	byRoot := make(map[item]*Part)
	for i := range run.Events {
		e := &run.Events[i]
		of, is := owner(e)
		switch {
		case !is && !ignored(e):
			s.common.add(e, int32(i))
		case !is || !groups.knows(of):
		default:
			p := s.part(byRoot, groups, of)
			p.events = append(p.events, int32(i))
			if e.Pod != nil {
				s.byPod[e.Pod.UID] = p
			}
		}
	}
	s.common.done(run.Events)
	populated := make(map[*Part]bool)
	for _, p := range s.byPod {
		populated[p] = true
	}
	for p := range populated {
		p.finish()
		s.All = append(s.All, p)
	}
	slices.SortFunc(s.All, func(a, b *Part) int { return cmp.Compare(a.Name, b.Name) })
	return s
}

// part is the part of an item. Pods that nothing selects are one part in each namespace.
func (s *Parts) part(byRoot map[item]*Part, groups *groups, of item) *Part {
	root := groups.root(of)
	if groups.lone(root) {
		root = item{kind: nothing, Key: history.Key{Namespace: of.Namespace}}
	}
	p := byRoot[root]
	if p == nil {
		p = &Part{Name: of.Namespace}
		byRoot[root] = p
	}
	switch of.kind {
	case workload:
		add(&p.Workloads, of.Key)
	case service:
		add(&p.Services, of.Key)
	}
	return p
}

func add(list *[]history.Key, key history.Key) {
	if !slices.Contains(*list, key) {
		*list = append(*list, key)
	}
}

func (p *Part) finish() {
	byName := func(a, b history.Key) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	}
	slices.SortFunc(p.Workloads, byName)
	slices.SortFunc(p.Services, byName)
	switch n := len(p.Workloads); n {
	case 0:
		p.Name = "pods of no workload in " + p.Name
	case 1:
		p.Name = Name(p.Workloads[0])
	default:
		p.Name = Name(p.Workloads[0]) + " and " + prose.Count(n-1, "workload") + " beside it"
	}
}

// Name is how a workload, a budget or a Service is written: "shop/checkout".
func Name(key history.Key) string { return key.Namespace + "/" + key.Name }

// OfPod is the part that a pod belongs to, by its UID; nil: the record does not know the pod.
func (s *Parts) OfPod(uid string) *Part { return s.byPod[uid] }

// Behind are the parts that have one of some Services, written as namespace/name.
func (s *Parts) Behind(services []string) []*Part {
	named := func(key history.Key) bool { return slices.Contains(services, Name(key)) }
	return slices.DeleteFunc(slices.Clone(s.All), func(p *Part) bool { return !slices.ContainsFunc(p.Services, named) })
}

// owner is the item that an event is about; false: it is about none, or about the whole cluster.
func owner(e *history.Event) (of item, is bool) {
	switch {
	case e.Pod != nil:
		return itemOf(pod, e.Pod.Namespace, e.Pod.Name), true
	case e.Workload != nil:
		return itemOf(workload, e.Workload.Namespace, e.Workload.Name), true
	case e.Budget != nil:
		return itemOf(budget, e.Budget.Namespace, e.Budget.Name), true
	case e.Slice != nil:
		return itemOf(service, e.Slice.Namespace, e.Slice.Service), true
	case e.Eviction != nil:
		return itemOf(pod, e.Eviction.Namespace, e.Eviction.Pod), true
	case e.KubeNote != nil && e.KubeNote.Kind == "Pod":
		return itemOf(pod, e.KubeNote.Namespace, e.KubeNote.Name), true
	case e.KubeNote != nil:
		name, deleted := spread.DeletedPod(e.KubeNote)
		return itemOf(pod, e.KubeNote.Namespace, name), deleted
	}
	return item{}, false
}

// ignored says whether an event is left out of every part: the list of requests files, the end of the file, phases, which are derived,
// and Kubernetes Events about other objects than pods.
func ignored(e *history.Event) bool {
	return e.Header != nil || e.Segment != nil || e.End != nil || e.Phase != nil || e.KubeNote != nil || e.Load != nil || e.Fault != nil
}
