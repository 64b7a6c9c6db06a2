package chosen

import (
	"cmp"
	"slices"
	"testing"
)

func TestSet(t *testing.T) {
	even := New(func(n int) bool { return n%2 == 0 }, cmp.Compare[int])
	for _, step := range []struct {
		key     string
		n       int
		gone    bool
		want    []int
		changes int
	}{
		{"a", 4, false, []int{4}, 1},
		{"b", 3, false, []int{4}, 1}, // it does not match
		{"c", 2, false, []int{2, 4}, 2},
		{"a", 5, false, []int{2}, 3}, // it matches no longer
		{"b", 8, false, []int{2, 8}, 4},
		{"c", 2, true, []int{8}, 5},
		{"c", 2, true, []int{8}, 5}, // it was gone already
		{"b", 8, false, []int{8}, 6},
	} {
		even.Take(step.key, step.n, step.gone)
		if got := even.List(); !slices.Equal(got, step.want) || even.Changes() != step.changes {
			t.Errorf("after %s=%d: %v and %d changes, want %v and %d", step.key, step.n, got, even.Changes(), step.want, step.changes)
		}
		if list := even.List(); len(list) > 0 {
			list[0] = -1 // the caller's own
		}
	}
}
