package history

import "strings"

// kernelWords are how a kernel says, by tc or nft, that it has no such thing. "No such file", "not found" and "not permitted" alone
// are said of anything, a tool that is missing among them.
var kernelWords = []string{
	"Specified qdisc kind is unknown",
	"RTNETLINK answers: No such file or directory", "RTNETLINK answers: Operation not supported",
	"Could not process rule: No such file or directory", "Could not process rule: Operation not supported",
	"Could not process rule: Protocol not supported",
}

// KernelRefused tells whether a tool says in the kernel's own words that the kernel has no such thing.
func KernelRefused(said string) bool {
	for _, words := range kernelWords {
		if strings.Contains(said, words) {
			return true
		}
	}
	return false
}

// NotSupported says why a fault could not be done where the scenario was run; empty: all could, or failed for other reasons. It is
// the mark of the harness, and proves nothing by itself: see invariant.Unsupported.
func (r Run) NotSupported() string {
	for _, e := range r.Events {
		if e.Fault != nil && e.Fault.NotSupported != "" {
			return e.Fault.NotSupported
		}
	}
	return ""
}
