package history

import "strings"

// kernelWords are messages of tc and nft that mean that the kernel lacks a feature. "No such file", "not found" and "not
// permitted" alone are ambiguous: they may mean that a tool is missing.
var kernelWords = []string{
	"Specified qdisc kind is unknown",
	"RTNETLINK answers: No such file or directory", "RTNETLINK answers: Operation not supported",
	"Could not process rule: No such file or directory", "Could not process rule: Operation not supported",
	"Could not process rule: Protocol not supported",
}

// KernelRefused reports whether a tool's output means that the kernel lacks a feature.
func KernelRefused(said string) bool {
	for _, words := range kernelWords {
		if strings.Contains(said, words) {
			return true
		}
	}
	return false
}

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
