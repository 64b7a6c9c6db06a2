package disturbances

import (
	"cmp"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/parts"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/spread"
)

// departure is the end of a pod.
type departure struct {
	Pod
	cause    spread.Cause
	workload history.Key // empty: none
	failed   bool        // it ended by itself, and failed
	used     bool        // a disturbance has it
}

// restart is the restart of a container in a pod that had been ready. Its moment is that of the report; the container ended before.
type restart struct {
	Pod
	ended    history.Offset // at the earliest
	workload history.Key
	used     bool
}

// stay is the time that a pod was on a node, until it was told to end.
type stay struct {
	Pod
	from, to history.Offset
}

// revise is a change of a workload's spec.
type revise struct {
	at           history.Offset
	was, is      history.Workload
	template     bool // the pod template changed
	scaled       bool // another number of replicas was wanted
	nextTemplate history.Offset
	nextScale    history.Offset
}

// facts are what is known of all parts of a record.
type facts struct {
	timings    history.Timings
	end        history.Offset
	departures []*departure
	restarts   []*restart
	stays      map[string][]stay // by node
	workloads  map[history.Key]*workload
	nodes      map[string]*timeline.Node
	servers    timeline.Series[string] // versions
}

// workload is the life of a workload.
type workload struct {
	key     history.Key
	changes []*revise
	settled bool             // at the end of the record
	births  []history.Offset // when its pods were created, in order
}

// factsOf reads a record, part by part.
func factsOf(run history.Run, split *parts.Parts) *facts {
	x := &facts{timings: run.Header.Cluster.Timings, stays: make(map[string][]stay), workloads: make(map[history.Key]*workload)}
	for i := range run.Events {
		e := &run.Events[i]
		x.end = max(x.end, e.T)
		if s := e.Server; s != nil {
			if n := len(x.servers); n == 0 || x.servers[n-1].Value != s.Version {
				x.servers = append(x.servers, timeline.Point[string]{At: e.T, Value: s.Version})
			}
		}
	}
	x.nodes = timeline.New(split.Lives()).Nodes
	for _, p := range split.All {
		x.read(history.Run{Header: run.Header, Events: split.Lives(p)}, p)
	}
	slices.SortStableFunc(x.departures, func(a, b *departure) int { return byMoment(a.Pod, b.Pod) })
	slices.SortStableFunc(x.restarts, func(a, b *restart) int { return byMoment(a.Pod, b.Pod) })
	return x
}

// read takes in a part.
func (x *facts) read(run history.Run, p *parts.Part) {
	f := evidence.New(run)
	why := spread.NewSkewLedger(f, "", p.Workloads)
	gone, evicted := make(map[string]bool), make(map[string]history.Moment)
	for _, seen := range f.Timeline().Pods {
		evicted[seen.UID] = seen.Evicted
	}
	for _, e := range f.Objects {
		if e.Workload != nil {
			x.revised(e.T, why.State, *e.Workload)
		}
		known := e.Pod != nil && why.State.Pods[e.Pod.UID].UID != ""
		why.State.Apply(e)
		if e.Pod == nil || gone[e.Pod.UID] || !timeline.Terminating(e.Pod) && !e.Pod.Ended() {
			continue
		}
		gone[e.Pod.UID] = true
		if known || e.Pod.Change != history.Listed { // otherwise it had begun to end before the record
			x.departed(e.T, why, *e.Pod, evicted[e.Pod.UID])
		}
	}
	for _, seen := range f.Timeline().Pods {
		x.lived(seen, why)
	}
	for key, w := range why.State.Workloads {
		x.of(key).settled = w.Settled()
	}
}

func (x *facts) of(key history.Key) *workload {
	w := x.workloads[key]
	if w == nil {
		w = &workload{key: key}
		x.workloads[key] = w
	}
	return w
}

// departed takes in the end of a pod. One that succeeded has done what it was for. A kubelet reports the end of a pod when it has ended,
// and that it evicts the pod before.
func (x *facts) departed(at history.Offset, why *spread.SkewLedger, p history.Pod, evicted history.Moment) {
	cause, _ := why.Left(at, p)
	if cause == spread.ByKubelet && evicted.OK {
		at = min(at, evicted.At)
	}
	if cause == spread.ByEnding && p.Phase == "Succeeded" {
		return
	}
	key, _ := why.Of(p)
	x.departures = append(x.departures, &departure{
		Pod:   Pod{Namespace: p.Namespace, Name: p.Name, UID: p.UID, Node: p.Node, At: at},
		cause: cause, workload: key, failed: cause == spread.ByEnding,
	})
}

// lived takes in where a pod was, and its restarts. A container that is restarted before its pod was ever ready is no disturbance, but
// part of how the pod starts.
func (x *facts) lived(p *timeline.Pod, why *spread.SkewLedger) {
	key, _ := why.Of(history.Pod{Namespace: p.Namespace, Labels: p.Labels})
	if first := p.Reports[0].Value; first.Change == history.Added && key != (history.Key{}) {
		w := x.of(key)
		w.births = append(w.births, p.Seen())
	}
	if i := slices.IndexFunc(p.Reports, func(r timeline.Point[*history.Pod]) bool { return r.Value.Node != "" }); i >= 0 {
		x.stays[p.Node] = append(x.stays[p.Node], stay{
			Pod:  Pod{Namespace: p.Namespace, Name: p.Name, UID: p.UID, Node: p.Node},
			from: p.Reports[i].At, to: p.EndBegan(),
		})
	}
	for _, d := range p.Downtimes {
		if !p.Ready.OK || p.Ready.At > d.From || d.From >= p.EndBegan() {
			continue
		}
		x.restarts = append(x.restarts, &restart{
			Pod:   Pod{Namespace: p.Namespace, Name: p.Name, UID: p.UID, Node: p.Node, At: d.Told, Restarted: true},
			ended: d.From, workload: key,
		})
	}
}

// revised takes in a report of a workload.
func (x *facts) revised(at history.Offset, s *history.State, is history.Workload) {
	key := history.Key{Namespace: is.Namespace, Name: is.Name}
	was, known := s.Workloads[key]
	if !known || is.Change == history.Deleted {
		return
	}
	c := &revise{at: at, was: was, is: is, nextTemplate: timeline.Never, nextScale: timeline.Never}
	c.template = was.Template != "" && is.Template != "" && was.Template != is.Template
	c.scaled = was.Replicas != is.Replicas
	if !c.template && !c.scaled {
		return
	}
	w := x.of(key)
	for _, before := range w.changes {
		if c.template {
			before.nextTemplate = min(before.nextTemplate, at)
		}
		if c.scaled {
			before.nextScale = min(before.nextScale, at)
		}
	}
	w.changes = append(w.changes, c)
}

// on are the recorded pods that were on a node at a moment and had not been told to end.
func (x *facts) on(node string, at history.Offset) (pods []Pod) {
	for _, s := range x.stays[node] {
		if s.from <= at && at < s.to {
			s.At, s.Stayed = at, true
			pods = append(pods, s.Pod)
		}
	}
	return pods
}

// leftFrom are the departures from a node within a time, both ends included, for which like returns true and which no disturbance has
// yet.
func (x *facts) leftFrom(node string, from, to history.Offset, like func(*departure) bool) (list []*departure) {
	i, _ := slices.BinarySearchFunc(x.departures, from, func(d *departure, at history.Offset) int { return cmp.Compare(d.At, at) })
	for ; i < len(x.departures) && x.departures[i].At <= to; i++ {
		if d := x.departures[i]; !d.used && d.Node == node && like(d) {
			list = append(list, d)
		}
	}
	return list
}

// restartedOn are the restarts on a node of containers that ended within a time, which no disturbance has yet.
func (x *facts) restartedOn(node string, from, to history.Offset) []*restart {
	return slices.DeleteFunc(slices.Clone(x.restarts), func(r *restart) bool {
		return r.used || r.Node != node || r.ended < from || r.ended > to
	})
}

// use gives departures and restarts to a disturbance.
func use(gone []*departure, again []*restart) (pods []Pod) {
	for _, d := range gone {
		d.used = true
		pods = append(pods, d.Pod)
	}
	for _, r := range again {
		r.used = true
		pods = append(pods, r.Pod)
	}
	slices.SortStableFunc(pods, byMoment)
	return pods
}
