package timeline

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
)

const s = time.Second

func moment(at history.Offset) history.Moment { return history.Moment{At: at, OK: true} }

func same(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFaults(t *testing.T) {
	mark := func(id int, stage history.FaultStage, edit func(*history.FaultMark)) history.FaultMark {
		m := history.FaultMark{ID: id, Name: "kill", Stage: stage}
		if edit != nil {
			edit(&m)
		}
		return m
	}
	bit := func(node, pod, witness string) func(*history.FaultMark) {
		return func(m *history.FaultMark) {
			m.Nodes, m.Pods, m.Witness = []string{node}, []string{pod}, witness
		}
	}
	run := historytest.New().
		Fault(1*s, mark(0, history.Injecting, nil)).
		Fault(2*s, mark(0, history.Seen, bit("w1", "p1", "w1 is silent"))).
		Fault(3*s, mark(0, history.Seen, bit("w1", "p2", "w1 is still silent"))).
		Fault(4*s, mark(1, history.Injecting, nil)).
		Fault(5*s, mark(1, history.Seen, func(m *history.FaultMark) { m.Error = "no such node" })).
		Fault(6*s, mark(0, history.Healing, nil)).
		Fault(7*s, mark(0, history.Healed, bit("w1", "p1", "w1 answers"))).
		Fault(8*s, mark(0, history.Healed, nil)).
		Run()
	same(t, []FaultLife{
		{
			ID: 0, Name: "kill", Injecting: moment(s), Seen: moment(2 * s), Healing: moment(6 * s), Healed: moment(8 * s),
			Nodes: []string{"w1"}, Pods: []string{"p1", "p2"},
			Witness: []string{"w1 is silent", "w1 is still silent", "w1 answers"},
		},
		{ID: 1, Name: "kill", Injecting: moment(4 * s), Errors: []string{"seen: no such node"}},
	}, Faults(run))
}

func TestSteps(t *testing.T) {
	step := func(id int, stage history.StepStage, err string) history.Step {
		return history.Step{ID: id, What: "drain", Node: "w1", From: "v1.36.3", To: "v1.37.0", Stage: stage, Error: err}
	}
	run := historytest.New().
		Step(1*s, step(0, history.StepBegin, "")).
		Step(2*s, step(0, history.StepEnd, "")).
		Step(3*s, step(1, history.StepBegin, "")).
		Step(4*s, step(2, history.StepEnd, "no room")).
		Step(5*s, step(0, history.StepEnd, "")). // recorded twice
		Run()
	life := StepLife{What: "drain", Node: "w1", From: "v1.36.3", To: "v1.37.0"}
	done, cut, odd := life, life, life
	done.Begin, done.End = moment(1*s), moment(2*s)
	cut.ID, cut.Begin = 1, moment(3*s)
	odd.ID, odd.End, odd.Error = 2, moment(4*s), "no room"
	same(t, []StepLife{done, cut, odd}, Steps(run))
	same(t, []StepLife(nil), Steps(historytest.Healthy().Run()))
}
