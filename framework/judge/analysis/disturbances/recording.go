package disturbances

import (
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/parts"
)

// Recording is a recording with what disturbed its cluster.
type Recording struct {
	// All is what disturbed the cluster, Of's list, and Parts are what it may have disturbed.
	All   []Disturbance
	Parts *parts.Parts
	// Joined are the parts for promises about where pods are bound.
	Joined *parts.Parts

	run            history.Run
	gone           map[string]history.Offset // when pods had ended, by their UIDs
	steady, during history.Offset            // from when to when it is judged: the load flowed, or without load the watches were complete
}

// Read reads a recording.
func Read(run history.Run) *Recording {
	r := &Recording{run: run, Parts: parts.Of(run), Joined: parts.OfRules(run), gone: make(map[string]history.Offset)}
	for _, e := range run.Events {
		if p := e.Pod; p != nil && (p.Change == history.Deleted || p.Ended()) && r.gone[p.UID] == 0 {
			r.gone[p.UID] = e.T
		}
	}
	r.steady, r.during = run.UnderLoad()
	if _, _, ended := run.Window(history.Drained); !ended && len(run.Events) > 0 {
		r.during = run.Events[len(run.Events)-1].T
	}
	r.All = OfParts(run, r.Parts)
	return r
}

// Counts says whether a disturbance began and was seen while the recording is judged. What began before the load flowed, or after it
// had ended, shows nothing.
func (r *Recording) Counts(d *Disturbance) bool {
	return d.From >= r.steady && d.Seen <= r.during
}

// Touches says whether a disturbance ended, restarted or cut off a pod of some parts, or changed one of their workloads.
func (r *Recording) Touches(d *Disturbance, list ...*parts.Part) bool {
	return slices.ContainsFunc(list, func(p *parts.Part) bool {
		return slices.ContainsFunc(d.Pods, func(pod Pod) bool { return r.has(p, pod) }) ||
			slices.ContainsFunc(d.Workloads, func(key history.Key) bool { return slices.Contains(p.Workloads, key) })
	})
}

// has says whether a pod belongs to a part, of either kind.
func (r *Recording) has(p *parts.Part, pod Pod) bool {
	return r.Parts.OfPod(pod.UID) == p || r.Joined.OfPod(pod.UID) == p
}

// Shown are the disturbances of all parts that count.
func (r *Recording) Shown() (list []Disturbance) {
	for i := range r.All {
		if d := &r.All[i]; r.Counts(d) && r.Touches(d, r.Parts.All...) {
			list = append(list, *d)
		}
	}
	return list
}
