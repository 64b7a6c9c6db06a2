package export

import "slices"

// ranks numbers a set of numbers in their order, without gaps. Numbers that follow each other take no memory of their own.
type ranks []run

// run is a range of numbers, to excluded, with how many of the set are below it.
type run struct{ from, to, below uint64 }

// add puts a number into the set. It is cheap near the end of what is there.
func (r *ranks) add(n uint64) {
	i := len(*r)
	for i > 0 && (*r)[i-1].from > n {
		i--
	}
	// All before i begin at n or below.
	joins := i > 0 && (*r)[i-1].to >= n
	if joins && (*r)[i-1].to > n {
		return // it is there
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

// count must come between the last add and the first of.
func (r ranks) count() {
	below := uint64(0)
	for i := range r {
		r[i].below = below
		below += r[i].to - r[i].from
	}
}

// of is how many numbers of the set are below n.
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
