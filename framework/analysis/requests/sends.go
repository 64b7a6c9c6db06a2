package requests

import (
	"math/bits"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

const (
	// sendStep is how finely the moments are kept at which requests were sent.
	sendStep = time.Millisecond
	// maxSendSteps bounds the memory of a worker's lane, to 128 KiB: what is watched for longer than 17 minutes has longer steps.
	maxSendSteps = 1 << 20
	// longestWatch is a year: a damaged record may hold any moment.
	longestWatch = 365 * 24 * time.Hour
	// maxSends bounds how many lanes of workers are watched.
	maxSends = 256
)

// Watch is the time in which it counts when requests were sent: from the beginning of the first fault to the end of the load,
// in which its effects are judged.
type Watch struct {
	From, To history.Offset
	step     history.Offset
	lanes    int // of workers, so far
}

// newWatch is empty where the time under load has no end.
func (t *Stats) newWatch() *Watch {
	w := &Watch{From: t.from, To: t.To, step: sendStep}
	if length := t.To - t.from; t.windows == 0 || length <= 0 || length > longestWatch {
		return &Watch{step: sendStep}
	}
	if first := t.facts.FirstFault(); first.OK {
		w.From = min(max(first.At, t.from), t.To)
	}
	for w.steps() > maxSendSteps {
		w.step *= 2
	}
	return w
}

// steps of the watch; a part of one counts.
func (w *Watch) steps() int { return int((w.To - w.From + w.step - 1) / w.step) }

// at is the moment at which a step begins.
func (w *Watch) at(step int) history.Offset { return w.From + history.Offset(step)*w.step }

// sends are the steps of a watch in which a request was sent, a bit each.
type sends []uint64

func (w *Watch) empty() sends { return make(sends, (w.steps()+63)/64) }

// sends of one more lane of a worker; nil when there are too many.
func (w *Watch) sends() sends {
	if w.lanes++; w.lanes > maxSends {
		return nil
	}
	return w.empty()
}

// add notes that a request was sent at a moment.
func (s sends) add(w *Watch, at history.Offset) {
	if at < w.From || at >= w.To {
		return
	}
	if step := uint((at - w.From) / w.step); step/64 < uint(len(s)) {
		s[step/64] |= 1 << (step % 64)
	}
}

// join notes what another worker sent.
func (s sends) join(other sends) {
	for i := range min(len(s), len(other)) {
		s[i] |= other[i]
	}
}

// gap is a time in which no request was sent, right within a step.
type gap struct {
	from   history.Offset
	length history.Offset
}

// gaps are the longest time between a request and the next, the beginning and the end of the watch counted as requests, and
// how long all of them were together beyond what each may last.
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

// Watch takes a request that was due under load.
func (row *rowTally) watch(w *Watch, r *history.Request, unsent bool) {
	if r.Due >= w.From {
		row.due++
		if unsent {
			row.skipped++
		}
	}
	if !unsent {
		row.sends.add(w, r.Sent)
	}
}
