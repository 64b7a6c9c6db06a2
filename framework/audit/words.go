package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// count returns a number with its noun in singular or plural.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// mostNames is how many names a sentence may list.
const mostNames = 8

// names joins names for a sentence, and only counts those beyond mostNames.
func names(all []string) string {
	if more := len(all) - mostNames; more > 0 {
		return strings.Join(all[:mostNames], ", ") + fmt.Sprintf(" and %d more", more)
	}
	if len(all) > 1 {
		return strings.Join(all[:len(all)-1], ", ") + " and " + all[len(all)-1]
	}
	return strings.Join(all, "")
}

// amounts lists how many pods each domain has.
func amounts(counts map[string]int) string {
	var parts []string
	for _, d := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s has %d", d, counts[d]))
	}
	return names(parts)
}

// extent returns the difference between the largest and the smallest count.
func extent(counts map[string]int) int {
	if len(counts) == 0 {
		return 0
	}
	all := slices.Collect(maps.Values(counts))
	return slices.Max(all) - slices.Min(all)
}
