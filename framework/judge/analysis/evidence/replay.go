package evidence

import (
	"cmp"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// Moments replays a run and visits the state after the last event of each moment at which an object changed.
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

// WorkloadOf finds the Deployment or StatefulSet that a promise is about: the one of that name, or, of an empty name, the only one. If it
// selects its pods by more than plain labels, which pods are its own is unknown, and that is missing evidence.
func WorkloadOf(run history.Run, name string) (history.Key, verdict.Missing) {
	keys := slices.DeleteFunc(Deployments(run), func(key history.Key) bool { return name != "" && key.Name != name })
	var d verdict.Missing
	switch {
	case len(keys) == 1:
		return keys[0], UnclearSelectors(run, keys[0])
	case len(keys) > 1:
		var names []string
		for _, key := range keys {
			names = append(names, key.Namespace+"/"+key.Name)
		}
		slices.Sort(names)
		d.Add("the record has the Deployments %s; the promise must name one", prose.List(names))
	case name != "":
		d.Add("the record has no Deployment %s", name)
	default:
		d.Add("the record has no Deployment")
	}
	return history.Key{}, d
}

// UnclearSelectors reports workloads whose pods cannot be told from others by plain labels.
func UnclearSelectors(run history.Run, keys ...history.Key) (d verdict.Missing) {
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

// LivePods are the pods of a workload that have not ended. The objects of failed and succeeded pods may stay.
func LivePods(s *history.State, w history.Workload) []history.Pod {
	return slices.DeleteFunc(s.PodsOf(w.Pods()), history.Pod.Ended)
}

// allReady says whether all pods are bound, ready and not terminating.
func allReady(pods []history.Pod) bool {
	return !slices.ContainsFunc(pods, func(p history.Pod) bool { return !p.Ready || p.Deleting || p.Node == "" })
}

// allReadyOrTried is allReady, except for pods that are unschedulable.
func allReadyOrTried(pods []history.Pod) bool {
	return !slices.ContainsFunc(pods, func(p history.Pod) bool {
		waits := p.Node == "" && p.Unschedulable != "" && !p.Deleting
		return !waits && !allReady([]history.Pod{p})
	})
}

// Bound are the pods that have a node.
func Bound(pods []history.Pod) []history.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(p history.Pod) bool { return p.Node == "" })
}

// Settled says whether a workload has settled: its controller reports it, and the pods, which another watch reports, are as many as
// wanted, bound, ready and not terminating.
func Settled(s *history.State, key history.Key) (w history.Workload, ok bool) {
	w, ok = s.Workloads[key]
	if !ok || !w.Settled() {
		return w, false
	}
	pods := LivePods(s, w)
	return w, len(pods) == w.Replicas && allReady(pods)
}

// Settler follows a workload and finds every state in which it had settled, however short. The watches of workloads and of pods must
// agree. One watch may report a state that lasts a fraction of a second, such as a step of a Scale, after the other has moved on. So what
// one watch reports is compared with everything that the other reported within WatchSkew. A workload that has moved on to a rollout is
// not compared: all its pods may be ready in the middle of a rollout.
//
// With Waiting, a workload with unschedulable pods can have settled.
type Settler struct {
	Key       history.Key
	Waiting   bool
	workloads []settledThen // settled ones within WatchSkew, oldest first
	pods      []settledThen // sets of pods of which all were ready
	Both      bool          // both watches reported it at the last moment
}

// settledThen is what one watch reported, and until when.
type settledThen struct {
	till     history.Offset
	now      bool
	workload history.Workload
	pods     []history.Pod
}

// See takes in a moment and returns the settled state that it completes.
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

// keep ends the last state, adds the current one if it is settled, and drops states that are older than WatchSkew.
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

// Deployments are the workloads of a record, by name.
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
