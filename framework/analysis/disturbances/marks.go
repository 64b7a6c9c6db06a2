package disturbances

import (
	"cmp"

	"github.com/holdfast-ha/holdfast/framework/analysis/parts"
	"github.com/holdfast-ha/holdfast/framework/history"
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

// stages are those of a disturbance as a fault. It is reverted, and seen to be, from when it did nothing more to the pods. One that was
// not over by then has neither stage.
func (r *Recording) stages(id int, d *Disturbance, list []*parts.Part) (marks []history.Event) {
	mark := history.FaultMark{ID: id, Name: d.Name, Nodes: d.Nodes, Voluntary: d.Kind.Voluntary()}
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
		add(over, history.Healed, "")
	}
	return marks
}
