package audit

import (
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
)

// mostNames is how many names a sentence may list.
const mostNames = 8

// listNames joins names for a sentence, and only counts those beyond mostNames.
func listNames(all []string) string { return prose.Few(all, mostNames) }

// amounts lists how many pods each domain has.
func amounts(counts map[string]int) string {
	var parts []string
	for _, d := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s has %d", d, counts[d]))
	}
	return listNames(parts)
}

// extent returns the difference between the largest and the smallest count.
func extent(counts map[string]int) int {
	if len(counts) == 0 {
		return 0
	}
	all := slices.Collect(maps.Values(counts))
	return slices.Max(all) - slices.Min(all)
}
