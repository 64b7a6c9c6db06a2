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
