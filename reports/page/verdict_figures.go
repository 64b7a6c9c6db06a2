package page

import (
	"maps"
	"slices"

	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/words"
)

// figure is a number of a verdict.
type figure struct{ Name, Value string }

// pairs are the numbers of a verdict by name, as text.
func pairs(v reports.Verdict) []figure {
	var list []figure
	for _, key := range slices.Sorted(maps.Keys(v.Numbers)) {
		list = append(list, figure{key, words.Number(v.Numbers[key])})
	}
	return list
}
