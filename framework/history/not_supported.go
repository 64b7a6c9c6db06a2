package history

// NotSupported is why the environment cannot run a fault, for example a missing kernel feature; empty if no fault is known
// to be unsupported. It is what the harness recorded, and proves nothing by itself: see judge.Unsupported.
func (r Run) NotSupported() string {
	for _, e := range r.Events {
		if e.Fault != nil && e.Fault.NotSupported != "" {
			return e.Fault.NotSupported
		}
	}
	return ""
}
