package timeline

import "github.com/holdfast-ha/holdfast/framework/history"

// StepLife is a step with its beginning and its end.
type StepLife struct {
	ID         int
	What, Node string
	From, To   string
	Begin, End history.Moment // End is not OK if the step never ended
	Error      string
}

// Steps lists the steps in the order of their first events. If a step's beginning was not recorded, Begin is not OK.
func Steps(r history.Run) []StepLife {
	var lives []StepLife
	index := make(map[int]int) // by ID
	for _, e := range r.Events {
		s := e.Step
		if s == nil {
			continue
		}
		i, known := index[s.ID]
		if !known {
			i = len(lives)
			index[s.ID] = i
			lives = append(lives, StepLife{ID: s.ID, What: s.What, Node: s.Node, From: s.From, To: s.To})
		}
		switch l := &lives[i]; s.Stage {
		case history.StepBegin:
			l.Begin.First(e.T)
		case history.StepEnd:
			l.End.First(e.T)
			if s.Error != "" {
				l.Error = s.Error
			}
		}
	}
	return lives
}
