package adversary

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// The same seed and number make the same edit, whatever was edited before, and another seed makes others. Edits that find no place do not count.
func TestEditsCanBeMadeAgain(t *testing.T) {
	const times = 20
	made := func() (list []uint64) {
		tried := 0
		Attack(t, times, func(random *rand.Rand, number int) (did, wrong string) {
			if tried++; number != tried-1 {
				t.Errorf("try %d is called %d", tried-1, number)
			}
			list = append(list, random.Uint64())
			if number%3 == 0 {
				return "", ""
			}
			return "did it", ""
		})
		return list
	}
	first := made()
	if len(first) != 30 {
		t.Errorf("%d tries for %d edits, of which each third has no place", len(first), times)
	}
	if !slices.Equal(first, made()) {
		t.Error("the same seed makes other edits")
	}
	defer func(was uint64, edit int) { *seed, *only = was, edit }(*seed, *only)
	*only = 7
	if again := made7(t); again != first[7] {
		t.Errorf("edit 7 by itself is %d, and was %d", again, first[7])
	}
	*seed++
	if other := made7(t); other == first[7] {
		t.Error("another seed makes the same edits")
	}
}

func made7(t *testing.T) (number uint64) {
	t.Helper()
	Attack(t, 1000, func(random *rand.Rand, n int) (did, wrong string) {
		if n != 7 {
			t.Errorf("edit %d is made", n)
		}
		number = random.Uint64()
		return "did it", ""
	})
	return number
}

func TestASampleIsNotAll(t *testing.T) {
	defer func(was bool) { *whole = was }(*whole)
	for all, want := range map[bool]int{true: 1000, false: 30} {
		if *whole = all; Times(1000, 30) != want {
			t.Errorf("%t: %d edits, want %d", all, Times(1000, 30), want)
		}
	}
}
