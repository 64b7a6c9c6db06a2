package fault

import "fmt"

// NotSupported says that a fault cannot be done where it was asked for, and why: the kernel lacks what it takes. Nothing was
// done, and so nothing holds or is broken; who runs it names it as such, and counts it neither as success nor as failure.
type NotSupported struct {
	What string // for example "tc netem"
	Why  string // in the words of who refused
}

func (e *NotSupported) Error() string {
	return fmt.Sprintf("%s is not supported here: %s", e.What, e.Why)
}
