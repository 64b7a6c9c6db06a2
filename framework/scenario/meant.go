package scenario

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// maxMeant is how many names are suggested at most for an unknown name.
const maxMeant = 4

// Meant suggests names for an unknown name: those that contain it, or differ from it in at most two letters, with or without the suite.
// For "rolling-updat" it suggests chaos/rolling-update. Empty: no name is similar.
func Meant(typed string, names []string) string {
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

// Wanted is Meant, or else all names.
func Wanted(typed string, names []string) string {
	return cmp.Or(Meant(typed, names), "want one of "+strings.Join(names, ", "))
}

// distance is how many letters must be inserted, deleted or changed to turn a into b (Levenshtein distance).
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
