package evidence

import (
	"cmp"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/prose"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// Moments replays a run and visits the state after the last event of each moment that told of an object.
func Moments(run history.Run, visit func(at history.Offset, s *history.State)) {
	s := history.NewState()
	changed := false
	for i, e := range run.Events {
		s.Apply(e)
		changed = changed || e.Pod != nil || e.Node != nil || e.Workload != nil || e.Slice != nil || e.Budget != nil
		if last := i+1 == len(run.Events) || run.Events[i+1].T > e.T; last && changed {
			visit(e.T, s)
			changed = false
		}
	}
}

// WorkloadOf finds the Deployment that a promise is about: the one of that name, or, of an empty name, the only one. One that
// selects its pods by more than plain labels is doubted: which pods are its own is not known.
func WorkloadOf(run history.Run, name string) (history.Key, verdict.Missing) {
	found := make(map[history.Key]bool)
	var names []string
	for _, e := range run.Events {
		if e.Workload == nil || name != "" && e.Workload.Name != name {
			continue
		}
		key := history.Key{Namespace: e.Workload.Namespace, Name: e.Workload.Name}
		if !found[key] {
			found[key] = true
			names = append(names, key.Namespace+"/"+key.Name)
		}
	}
	var d verdict.Missing
	switch {
	case len(found) == 1:
		for key := range found {
			return key, SelectsByMore(run, key)
		}
	case len(found) > 1:
		slices.Sort(names)
		d.Add("the record has the Deployments %s: name the one that is meant", prose.List(names))
	case name != "":
		d.Add("the record has no Deployment %s", name)
	default:
		d.Add("the record has no Deployment")
	}
	return history.Key{}, d
}

// SelectsByMore doubts workloads whose pods cannot be told from others by the labels in the record.
func SelectsByMore(run history.Run, keys ...history.Key) (d verdict.Missing) {
	said := make(map[history.Key]bool)
	for _, e := range run.Events {
		if e.Workload == nil || e.Workload.SelectsBy == "" {
			continue
		}
		key := history.Key{Namespace: e.Workload.Namespace, Name: e.Workload.Name}
		if slices.Contains(keys, key) && !said[key] {
			said[key] = true
			d.Add("%s selects its pods by more than plain labels: %s", key.Name, e.Workload.SelectsBy)
		}
	}
	return d
}

// LivePods are the pods of a workload that have not ended. A pod that failed or succeeded may be kept for its logs.
func LivePods(s *history.State, w history.Workload) []history.Pod {
	return slices.DeleteFunc(s.PodsOf(w.Namespace, w.Selector), history.Pod.Ended)
}

// allReady tells whether none of the pods is unbound, unready or going.
func allReady(pods []history.Pod) bool {
	for _, p := range pods {
		if !p.Ready || p.Deleting || p.Node == "" {
			return false
		}
	}
	return true
}

// allReadyOrTried is allReady but for pods that the scheduler has found no node for.
func allReadyOrTried(pods []history.Pod) bool {
	return !slices.ContainsFunc(pods, func(p history.Pod) bool {
		waits := p.Node == "" && p.Unschedulable != "" && !p.Deleting
		return !waits && !allReady([]history.Pod{p})
	})
}

// Bound are the pods that have a node.
func Bound(pods []history.Pod) (list []history.Pod) {
	for _, p := range pods {
		if p.Node != "" {
			list = append(list, p)
		}
	}
	return list
}

// Settled tells whether a workload has settled: its controller says so, and the pods, which another watch reports, are
// as many as are wanted, bound, ready, and none of them is going.
func Settled(s *history.State, key history.Key) (w history.Workload, ok bool) {
	w, ok = s.Workloads[key]
	if !ok || !w.Settled() {
		return w, false
	}
	pods := LivePods(s, w)
	return w, len(pods) == w.Replicas && allReady(pods)
}

// Settler follows a workload and finds every state in which it had settled, however short. Two watches that agree are
// not a trick of their order; but of a state that lasts a fraction of a second, as a step of a Scale does, one watch may
// tell when the other has gone on already. So what one of them says is compared with all that the other said within the
// skew. A workload that has gone on to a rollout is not compared: halfway through it, its pods may all be ready.
//
// With waiting, a pod for which the scheduler has found no node is no reason for a workload not to have settled.
type Settler struct {
	Key       history.Key
	Waiting   bool
	workloads []settledThen // settled ones, oldest first; only those seen within the skew
	pods      []settledThen // all of them ready
	Both      bool          // at the moment seen last, both were so
}

// settledThen is what one watch said, until when.
type settledThen struct {
	till     history.Offset
	now      bool
	workload history.Workload
	pods     []history.Pod
}

// See takes in a moment and returns the settled state it reveals.
func (t *Settler) See(at history.Offset, s *history.State) (history.Workload, []history.Pod, bool) {
	w, exists := s.Workloads[t.Key]
	pods := LivePods(s, w)
	complete, calm := w.Settled(), allReady(pods)
	if t.Waiting {
		complete, calm = w.Observed && w.Updated == w.Replicas && w.Total == w.Replicas, allReadyOrTried(pods)
	}
	t.workloads = keep(t.workloads, at, exists && complete, settledThen{workload: w})
	t.pods = keep(t.pods, at, exists && calm, settledThen{pods: pods})
	settledNow, readyNow := nowIs(t.workloads), nowIs(t.pods)
	t.Both = settledNow && readyNow && len(pods) == w.Replicas
	if settledNow {
		for _, then := range slices.Backward(t.pods) {
			if len(then.pods) == w.Replicas {
				return w, then.pods, true
			}
		}
	}
	if readyNow {
		for _, then := range slices.Backward(t.workloads) {
			if then.workload.Replicas == len(pods) && then.workload.Replicas != w.Replicas {
				return then.workload, pods, true
			}
		}
	}
	return w, nil, false
}

// keep ends what was so until now, adds what is so now, and forgets what was too long ago.
func keep(list []settledThen, at history.Offset, is bool, what settledThen) []settledThen {
	if nowIs(list) {
		list[len(list)-1].till, list[len(list)-1].now = at, false
	}
	list = slices.DeleteFunc(list, func(then settledThen) bool { return at-then.till > WatchSkew })
	if is {
		what.till, what.now = at, true
		list = append(list, what)
	}
	return list
}

func nowIs(list []settledThen) bool { return len(list) > 0 && list[len(list)-1].now }

// Deployments are those of a record, by name.
func Deployments(run history.Run) (keys []history.Key) {
	found := make(map[history.Key]bool)
	for _, e := range run.Events {
		if e.Workload == nil {
			continue
		}
		key := history.Key{Namespace: e.Workload.Namespace, Name: e.Workload.Name}
		if !found[key] {
			found[key] = true
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b history.Key) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	return keys
}
