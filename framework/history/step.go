package history

// StepStage is when in a step's life an event was written.
type StepStage string

// The stages of a step. A step that has begun and not ended is where its work stopped.
const (
	StepBegin StepStage = "begin"
	StepEnd   StepStage = "end"
)

// Step is a stage of one step of work that takes many, such as the upgrade of a cluster node by node. The harness writes it.
type Step struct {
	ID   int    `json:"id"`   // numbers the scenario's steps from 0; both stages of one have the same
	What string `json:"what"` // "drain", "kubeadm upgrade apply", "swap kubelet", "uncordon", "Ready", ...
	Node string `json:"node,omitempty"`
	// From and To are versions, where the step changes one.
	From  string    `json:"from,omitempty"`
	To    string    `json:"to,omitempty"`
	Stage StepStage `json:"stage"`
	// Error says why the step failed; only at its end.
	Error string `json:"error,omitempty"`
}

// StepLife is a step from its beginning to its end.
type StepLife struct {
	ID         int
	What, Node string
	From, To   string
	Begin, End Moment // End is not OK of a step that never ended
	Error      string
}

// Steps lists the steps in the order in which they were first told of. A step without a beginning has one that is not OK.
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
