package history_test

import (
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
)

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
	life := history.StepLife{What: "drain", Node: "w1", From: "v1.36.3", To: "v1.37.0"}
	done, cut, odd := life, life, life
	done.Begin, done.End = moment(1*s), moment(2*s)
	cut.ID, cut.Begin = 1, moment(3*s)
	odd.ID, odd.End, odd.Error = 2, moment(4*s), "no room"
	same(t, []history.StepLife{done, cut, odd}, run.Steps())
	same(t, []history.StepLife(nil), historytest.Healthy().Run().Steps())
}
