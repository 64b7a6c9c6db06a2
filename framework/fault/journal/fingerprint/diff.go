package fingerprint

import (
	"cmp"
	"maps"
	"slices"
)

// Difference is a field that differs between two fingerprints. Before and Now are JSON values; empty: there is none.
type Difference struct {
	Name   string // of the object
	Field  string // JSON pointer; empty: the object itself is gone, or is new
	Before string
	Now    string
}

// The values of Before and Now of a Difference without a Field.
const (
	There = "there"
	Gone  = "not there"
)

// Diff lists the differences, by the objects' names and the fields. Of an object that was deleted and created again, only the UID is
// listed: it is another object.
func Diff(before, now Print) (all []Difference) {
	for _, name := range slices.Sorted(maps.Keys(union(before, now))) {
		was, is := before[name], now[name]
		switch {
		case was == nil:
			all = append(all, Difference{Name: name, Before: Gone, Now: There})
		case is == nil:
			all = append(all, Difference{Name: name, Before: There, Now: Gone})
		case was[UID] != is[UID]:
			all = append(all, Difference{Name: name, Field: UID, Before: was[UID], Now: is[UID]})
		default:
			all = append(all, fields(name, was, is)...)
		}
	}
	return all
}

func fields(name string, was, is Fields) (all []Difference) {
	for field := range union(was, is) {
		if was[field] != is[field] {
			all = append(all, Difference{Name: name, Field: field, Before: was[field], Now: is[field]})
		}
	}
	slices.SortFunc(all, func(a, b Difference) int { return cmp.Compare(a.Field, b.Field) })
	return all
}

func union[V any](a, b map[string]V) map[string]bool {
	keys := map[string]bool{}
	for key := range a {
		keys[key] = true
	}
	for key := range b {
		keys[key] = true
	}
	return keys
}
