package export

import "slices"

// ranks returns, for a number, how many numbers of a set are below it. Consecutive numbers share one entry.
type ranks []run

// run is a range of numbers, to excluded, with how many numbers of the set are below it.
type run struct{ from, to, below uint64 }

// add adds a number to the set. It is fast if few numbers of the set are larger.
func (r *ranks) add(n uint64) {
	i := len(*r)
	for i > 0 && (*r)[i-1].from > n {
		i--
	}
	// All runs before i begin at n or below.
	joins := i > 0 && (*r)[i-1].to >= n
	if joins && (*r)[i-1].to > n {
		return // n is in the set already
	}
	meets := i < len(*r) && (*r)[i].from == n+1
	switch {
	case joins && meets:
		(*r)[i-1].to = (*r)[i].to
		*r = slices.Delete(*r, i, i+1)
	case joins:
		(*r)[i-1].to = n + 1
	case meets:
		(*r)[i].from = n
	default:
		*r = slices.Insert(*r, i, run{from: n, to: n + 1})
	}
}

// count must be called after the last add and before the first of.
func (r ranks) count() {
	below := uint64(0)
	for i := range r {
		r[i].below = below
		below += r[i].to - r[i].from
	}
}

// of returns how many numbers of the set are below n.
func (r ranks) of(n uint64) uint64 {
	i, found := slices.BinarySearchFunc(r, n, func(x run, n uint64) int {
		switch {
		case x.to <= n:
			return -1
		case x.from > n:
			return 1
		}
		return 0
	})
	switch {
	case found:
		return r[i].below + n - r[i].from
	case i > 0:
		return r[i-1].below + r[i-1].to - r[i-1].from
	}
	return 0
}
