package evidence

import (
	"cmp"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// busy is the share of a time in which some task waited for a processor, from which on a machine counts as busy all the while. Measured
// over three seconds at a time, on two cores: at most 95 % in 23 scenarios with nothing beside them, and nearly always 98 % beside nine
// endless loops.
const busy = 0.95

// BusyNumber counts, in a verdict, what was too slow and is explained by a busy machine.
const BusyNumber = "slowOnBusyMachine"

// Busy is the share of a time in which some task waited for a processor of the machine that all nodes share, and whether that was
// nearly all the time. Then nodes may have waited, too, and what was slow tells nothing of the workload. The load workers measure it, which
// are on that machine. Where nodes have machines of their own, the share is not known, and zero.
//
// Source: https://docs.kernel.org/accounting/psi.html
func (f *Run) Busy(from, to history.Offset) (share float64, all bool) {
	for _, samples := range f.Noise.waits {
		share = max(share, waited(samples, from, to))
	}
	return share, share >= busy
}

// waited is the share of a time in which some task waited for a processor, by the samples of one load worker. A time without
// samples counts as one in which none did.
func waited(samples []history.Event, from, to history.Offset) float64 {
	if to <= from {
		return 0
	}
	var sum float64
	first, _ := slices.BinarySearchFunc(samples, from, func(e history.Event, at history.Offset) int { return cmp.Compare(e.T, at) })
	at := from
	for _, e := range samples[first:] {
		if e.Noise.Since >= to {
			break
		}
		begin, end := max(at, e.Noise.Since), min(to, e.T)
		if begin < end {
			sum += float64(end-begin) * min(e.Noise.CPU, 1)
			at = end
		}
	}
	return sum / float64(to-from)
}
