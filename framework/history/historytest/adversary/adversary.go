// Package adversary is how tests attack what holdfast judges: with edits at random, of which each can be made again by its seed and its number.
//
// It does not know what is edited. A test that uses it belongs to `make adversary`, and makes a sample of its edits in `make test`.
package adversary

import (
	"flag"
	"math/rand/v2"
	"testing"
)

var (
	whole = flag.Bool("adversary", false, "attack as often as it takes to be sure, which takes minutes, and not a sample")
	seed  = flag.Uint64("adversary-seed", 1, "make the random edits of this seed")
	only  = flag.Int("adversary-edit", -1, "make the edit of this number alone, to see a finding again")
)

// Times is how often to attack: in all, or in a sample.
func Times(all, sample int) int {
	if *whole {
		return all
	}
	return sample
}

// Edit makes an edit, of which the number may choose the record. It returns what it did, which is empty if the record has no place for it, and what
// came of it that must not, which is empty if nothing did.
type Edit func(random *rand.Rand, number int) (did, wrong string)

// Attack makes so many edits, each with random numbers of its own. It fails the test for each that comes to something wrong, and if there is hardly a
// place for an edit. It returns false if only one edit was asked for, which shows nothing of the others.
func Attack(t *testing.T, times int, edit Edit) (all bool) {
	t.Helper()
	if *only >= 0 {
		did, wrong := edit(numbers(*only), *only)
		t.Logf("edit %d of seed %d: %s", *only, *seed, did)
		if wrong != "" {
			t.Errorf("%s: %s", did, wrong)
		}
		return false
	}
	t.Logf("%d edits of seed %d", times, *seed)
	done := 0
	for number := 0; done < times; number++ {
		if number > 100*times {
			t.Fatalf("%d edits in %d tries: there are too few records for it", done, number)
		}
		did, wrong := edit(numbers(number), number)
		if did != "" {
			done++
		}
		if wrong != "" {
			t.Errorf("%s: %s\nagain, in its package: go test -run '^%s$' -adversary-seed %d -adversary-edit %d", did, wrong, t.Name(), *seed, number)
		}
	}
	return true
}

func numbers(of int) *rand.Rand { return rand.New(rand.NewPCG(*seed, uint64(of))) }
