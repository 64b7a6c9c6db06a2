package evidence

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/prose"
)

const (
	// busy is the share of a time in which some task waited for a processor, from which on a machine counts as busy all the while.
	// Measured over three seconds at a time, on two cores: at most 95 % in 23 scenarios with nothing beside them, and nearly always
	// 98 % beside nine endless loops.
	busy = 0.97
	// busyFor is the time over which busy was measured. In a shorter time some task may wait all the while on any machine.
	busyFor = 3 * time.Second
	// used is the share of processor time that must have been used as well. A task that its own CPU quota keeps from running counts as
	// waiting, on a machine that may be idle.
	used = 0.95
)

// BusyNumber counts, in a verdict, what a busy machine explains: failures, slow answers, and moved pods.
const BusyNumber = "explainedByBusyMachine"

// Reason is why something may be the harness's own noise, or that of a busy machine; the zero Reason: it is not.
type Reason struct {
	Words string
	Busy  bool // the machine was busy, and may not be at another time
}

// None reports whether there is no reason.
func (r Reason) None() bool { return r == Reason{} }

// Busy reports whether, nearly all the time, some task waited for a processor of the machine that all nodes share, and its processors were
// used. Then nodes may have waited, too, and what was late tells nothing of the workload. A time of less than three seconds is judged with
// the time before it. The load workers measure it, because they are on that machine. Where nodes have machines of their own, it is not known.
//
// Source: https://docs.kernel.org/accounting/psi.html
func (f *Run) Busy(from, to history.Offset) bool {
	return f.WhyBusy(from, to).Busy
}

// WhyBusy is Busy in words; the zero Reason: the machine was not busy.
func (f *Run) WhyBusy(from, to history.Offset) Reason {
	if to < from {
		return Reason{}
	}
	from = min(from, to-busyFor)
	var longest, ran float64
	for _, samples := range f.Noise.waits {
		w, r := waitedAndRan(samples, from, to)
		if w >= busy && r >= used && (w > longest || w == longest && r > ran) {
			longest, ran = w, r
		}
	}
	if longest == 0 {
		return Reason{}
	}
	return Reason{Busy: true, Words: fmt.Sprintf("from %s to %s, a task waited for a processor of the machine that all nodes share %s of the time, and %s of its processor time was used",
		prose.Moment(from), prose.Moment(to), prose.Percent(longest), prose.Percent(ran))}
}

// waitedAndRan are the share of a time in which some task waited for a processor, and the share of processor time that was used, by the
// samples of one load worker. A time without samples counts as idle.
func waitedAndRan(samples []history.Event, from, to history.Offset) (waited, ran float64) {
	if to <= from {
		return 0, 0
	}
	first, _ := slices.BinarySearchFunc(samples, from, func(e history.Event, at history.Offset) int { return cmp.Compare(e.T, at) })
	at := from
	for _, e := range samples[first:] {
		if e.Noise.Since >= to {
			break
		}
		begin, end := max(at, e.Noise.Since), min(to, e.T)
		if begin < end {
			waited += float64(end-begin) * min(e.Noise.CPU, 1)
			ran += float64(end-begin) * min(e.Noise.Used, 1)
			at = end
		}
	}
	return waited / float64(to-from), ran / float64(to-from)
}
