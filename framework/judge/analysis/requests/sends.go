package requests

import (
	"math/bits"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

const (
	// sendStep is the resolution of the moments at which requests were sent.
	sendStep = time.Millisecond
	// maxLaneSteps bounds the memory of a lane to 8 MiB: a watch of more than 18 hours has longer steps. Steps of 64 ms, of a watch of more than
	// 24 days, are too long to say that requests were sent every 50 ms.
	maxLaneSteps = 1 << 26
	// maxWorkerSteps bounds the memory of a worker's part of a lane to 128 KiB. Its steps are longer than those of the lane after 17 minutes.
	maxWorkerSteps = 1 << 20
	// longestWatch is a year, because a damaged record may hold any moment.
	longestWatch = 365 * 24 * time.Hour
	// exactSends is how many lanes of workers are watched as exactly, and maxSends how many at all. Of the others, manySteps are one: how
	// long one of hundreds of workers sent nothing need not be known to a millisecond.
	exactSends = 256
	maxSends   = 2048
	manySteps  = 8
)

// Watch is the time in which it counts when requests were sent: from the start of the first fault to the end of the load, in which
// its effects are judged.
type Watch struct {
	From, To history.Offset
	step     history.Offset
}

// newWatch is empty if the time under load has no end.
func (t *Stats) newWatch() *Watch {
	w := &Watch{From: t.from, To: t.To, step: sendStep}
	if length := t.To - t.from; t.windows == 0 || length <= 0 || length > longestWatch {
		return &Watch{step: sendStep}
	}
	if first := t.facts.FirstFault(); first.OK {
		w.From = min(max(first.At, t.from), t.To)
	}
	w.coarsen(maxLaneSteps)
	return w
}

// coarsen makes the steps longer until there are no more than most.
func (w *Watch) coarsen(most int) {
	for w.steps() > most {
		w.step *= 2
	}
}

// steps of the watch, the last of which may be shorter.
func (w *Watch) steps() int { return int((w.To - w.From + w.step - 1) / w.step) }

// at is the start of a step.
func (w *Watch) at(step int) history.Offset { return w.From + history.Offset(step)*w.step }

// sends has a bit for each step of a watch in which a request was sent.
type sends []uint64

func (w *Watch) empty() sends { return make(sends, (w.steps()+63)/64) }

// workerSends makes the bits of one more lane of a worker, and the watch that they are of; nil when there are too many.
func (t *Stats) workerSends() (sends, *Watch) {
	w := *t.Watch
	switch t.watched++; {
	case t.watched > maxSends:
		return nil, nil
	case t.watched > exactSends:
		w.step *= manySteps
	}
	w.coarsen(maxWorkerSteps)
	return w.empty(), &w
}

// add records that a request was sent at a moment.
func (s sends) add(w *Watch, at history.Offset) {
	if s == nil || at < w.From || at >= w.To {
		return
	}
	if step := uint((at - w.From) / w.step); step/64 < uint(len(s)) {
		s[step/64] |= 1 << (step % 64)
	}
}

// gap is a time without a request sent, exact to a step.
type gap struct {
	from   history.Offset
	length history.Offset
}

// gaps are the longest time between two requests, where the start and the end of the watch count as requests, and the sum of all
// such times beyond what each may last.
func (s sends) gaps(w *Watch, each history.Offset) (longest gap, beyond history.Offset) {
	last := 0
	sent := func(step int) {
		length := history.Offset(step-last) * w.step
		if length > longest.length {
			longest = gap{w.at(last), length}
		}
		beyond += max(0, length-each)
		last = step
	}
	for i, word := range s {
		for ; word != 0; word &= word - 1 {
			sent(i*64 + bits.TrailingZeros64(word))
		}
	}
	sent(w.steps())
	return longest, beyond
}

// watch counts a request that was due under load.
func (t *Stats) watch(row *rowTally, r *history.Request, unsent bool) {
	if r.Due >= t.Watch.From {
		row.due++
		if unsent {
			row.skipped++
		}
	}
	if !unsent {
		row.sends.add(row.watched, r.Sent)
		row.lane.sends.add(t.Watch, r.Sent)
	}
}
