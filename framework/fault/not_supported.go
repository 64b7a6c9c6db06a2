package fault

import "fmt"

// NotSupported is why the environment cannot run a fault, for example a missing kernel feature. Nothing was done, and so no promise was
// held or broken: the run names the fault, and counts it neither as success nor as failure.
type NotSupported struct {
	What string // for example "tc netem"
	Why  string // in the words of who refused
}

func (e *NotSupported) Error() string {
	return fmt.Sprintf("%s is not supported here: %s", e.What, e.Why)
}
