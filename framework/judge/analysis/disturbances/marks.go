package disturbances

import (
	"cmp"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/parts"
)

func byTime(a, b history.Event) int { return cmp.Compare(a.T, b.T) }

// marks are an episode's phases, and its disturbances as faults.
func (r *Recording) marks(e *Episode, list []*parts.Part) (marks []history.Event) {
	began, over := e.To, e.From
	for i := range e.Disturbances {
		d := &e.Disturbances[i]
		began, over = min(began, d.From), max(over, min(d.Over, e.To))
		marks = append(marks, r.stages(i, d, list)...)
	}
	for _, p := range []struct {
		name history.PhaseName
		at   history.Offset
	}{{history.Steady, e.From}, {history.Disturbed, began}, {history.Recovered, max(began, over)}, {history.Drained, e.To}} {
		marks = append(marks, history.Event{T: p.at, Phase: &history.Phase{Name: p.name}})
	}
	return marks
}

// Marked is the whole recording with its disturbances as faults, and with the phases of a scenario, for readers: all that is known of other records
// is then known of it, too. Verdicts are not to be made from it, because promises are judged in each episode by itself.
func (r *Recording) Marked() history.Run {
	marked := r.run
	marked.Events = slices.DeleteFunc(slices.Clone(r.run.Events), func(e history.Event) bool { return e.Phase != nil })
	marked.Events = append(marked.Events, r.marks(&Episode{From: r.steady, To: r.during, Disturbances: r.All}, r.Parts.All)...)
	slices.SortStableFunc(marked.Events, byTime)
	return marked
}

// stages are those of a disturbance as a fault. It is being reverted from when it did nothing more to the pods, and is reverted when the last
// pod that it has told to end has ended: until then, requests meet what it did. One that was not over by then has neither stage. A kubelet that evicts
// takes the pods that it evicts, and its node serves on.
func (r *Recording) stages(id int, d *Disturbance, list []*parts.Part) (marks []history.Event) {
	mark := history.FaultMark{ID: id, Name: d.Name, Nodes: d.Nodes, Voluntary: d.Kind.Voluntary()}
	if d.Kind == Pressure {
		mark.Nodes = nil
	}
	for _, p := range d.Pods {
		for _, of := range list {
			if r.has(of, p) {
				mark.Pods = append(mark.Pods, p.Name)
			}
		}
	}
	add := func(at history.Offset, stage history.FaultStage, witness string) {
		m := mark
		m.Stage, m.Witness = stage, witness
		marks = append(marks, history.Event{T: at, Fault: &m})
	}
	add(d.From, history.Injecting, "")
	add(d.Seen, history.Seen, d.Words)
	if over := max(d.Over, d.Seen); !d.Open && over <= r.during {
		add(over, history.Healing, "")
		if until, ended := r.ending(d); ended {
			add(max(over, until), history.Healed, "")
		}
	}
	return marks
}

// ending is until when a voluntary disturbance took effect; not ended: a pod that it has told to end was still there when the recording was no longer
// judged. A drain or an eviction tells a pod to end within a moment,
// in which no request may be on its way; the pod then serves, or fails to, for its grace period. A rollout or a scaling also brings pods, which get
// requests when they are ready.
func (r *Recording) ending(d *Disturbance) (until history.Offset, ended bool) {
	if !d.Kind.Voluntary() {
		return 0, true
	}
	if d.Kind == Rollout || d.Kind == Scale {
		for _, key := range d.Workloads {
			until = max(until, r.settledAfter(key, d.Over))
		}
	}
	for _, p := range d.Pods {
		gone, is := r.gone[p.UID]
		if !is || gone > r.during {
			return 0, false
		}
		until = max(until, gone)
	}
	return until, true
}

// settledAfter is when a workload was first reported as settled from a moment on, while the recording is judged.
func (r *Recording) settledAfter(key history.Key, from history.Offset) history.Offset {
	first, _ := slices.BinarySearchFunc(r.run.Events, from, func(e history.Event, at history.Offset) int { return cmp.Compare(e.T, at) })
	for i := first; i < len(r.run.Events); i++ {
		e := &r.run.Events[i]
		if w := e.Workload; w != nil && w.Namespace == key.Namespace && w.Name == key.Name && w.Settled() {
			return min(e.T, r.during)
		}
	}
	return r.during
}
