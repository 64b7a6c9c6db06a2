package history

import (
	"slices"
	"strings"
)

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
	return slices.ContainsFunc(kernelWords, func(words string) bool { return strings.Contains(said, words) })
}
