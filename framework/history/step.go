package history

// StepStage is the beginning or the end of a step.
type StepStage string

// The stages of a step. A step that has begun and not ended is where the work stopped.
const (
	StepBegin StepStage = "begin"
	StepEnd   StepStage = "end"
)

// Step is a stage of one step of a long operation, such as upgrading a cluster node by node. The harness records it.
type Step struct {
	ID   int    `json:"id"`   // numbers the scenario's steps from 0; the same for both stages
	What string `json:"what"` // "drain", "kubeadm upgrade apply", "swap kubelet", "uncordon", "Ready", ...
	Node string `json:"node,omitempty"`
	// From and To are versions, if the step changes one.
	From  string    `json:"from,omitempty"`
	To    string    `json:"to,omitempty"`
	Stage StepStage `json:"stage"`
	// Error is why the step failed; only in the end stage.
	Error string `json:"error,omitempty"`
}

// StepLife is a step with its beginning and its end.
type StepLife struct {
	ID         int
	What, Node string
	From, To   string
	Begin, End Moment // End is not OK if the step never ended
	Error      string
}

// Steps lists the steps in the order of their first events. If a step's beginning was not recorded, Begin is not OK.
func (r Run) Steps() []StepLife {
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
		case StepBegin:
			l.Begin.first(e.T)
		case StepEnd:
			l.End.first(e.T)
			if s.Error != "" {
				l.Error = s.Error
			}
		}
	}
	return lives
}
