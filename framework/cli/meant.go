package cli

import (
	"path"
	"slices"
	"strings"
)

// maxMeant bounds how many names are offered for one that is not known.
const maxMeant = 4

// meant offers, for a name that is not known, those that may have been meant: they have what was typed in them, or differ from it in
// two letters at most. "rolling-updat" is near chaos/rolling-update, with and without its suite. Empty: none is near.
func meant(typed string, names []string) string {
	near := func(name string) bool {
		short := path.Base(name)
		return distance(typed, name) <= 2 || distance(path.Base(typed), short) <= 2 || len(typed) > 3 && strings.Contains(name, typed)
	}
	var found []string
	for _, name := range names {
		if near(name) {
			found = append(found, name)
		}
	}
	if len(found) == 0 || len(found) > maxMeant {
		return ""
	}
	return "did you mean " + strings.Join(found, " or ") + "?"
}

// distance is how many letters have to be put in, left out or changed to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = slices.Min([]int{change, diagonal + 1, row[j] + 1})
		}
	}
	return row[len(b)]
}
