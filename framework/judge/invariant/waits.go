package invariant

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/stats"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/requests"
)

const (
	// answerSlot is the length of a slot of which the slowest answer is kept, to compare lanes at the same moment.
	answerSlot = 100 * time.Millisecond
	// maxAnswerSlots bounds the memory of a lane to 400 KB: a run of more than 27 minutes has longer slots.
	maxAnswerSlots = 1 << 14
	// maxCovered bounds the slots that one answer covers: more than a request's time-outs allow.
	maxCovered = 128
)

// laneWaits is how long a lane waited for its answers.
type laneWaits struct {
	lane                         history.Lane
	steady, disturbed, recovered answerTimes
	slots                        []slowest // from the beginning of the first fault on
	failed                       uint64
	forms                        forms // where the promise is Foreign
}

// answerTimes are the durations of answers from when their requests were sent, and from when they were due. calm are the former without
// those that came while the machine was saturated.
type answerTimes struct {
	sent, due, calm stats.Durations
	first, last     history.Offset // of the answers that are not calm
}

func (t *answerTimes) add(r *history.Request, calm bool) {
	t.sent.Add(r.Done - r.Sent)
	t.due.Add(r.Done - r.Due)
	if calm {
		t.calm.Add(r.Done - r.Sent)
		return
	}
	if t.last == 0 {
		t.first = r.Sent
	}
	t.last = max(t.last, r.Done)
}

// slowest is the longest time of an answer whose request was due in a slot.
type slowest struct {
	took, due time.Duration  // since the request was sent, and since it was due
	at        history.Offset // when the former was sent
}

// slotted maps moments to slots.
type slotted struct {
	from history.Offset
	step time.Duration
	n    int
}

func newSlotted(w *requests.Watch) slotted {
	s := slotted{from: w.From, step: answerSlot}
	for (w.To-w.From)/s.step >= maxAnswerSlots {
		s.step *= 2
	}
	s.n = int((w.To-w.From)/s.step) + 1
	return s
}

// of is the slot of a moment; the first slot for an earlier moment.
func (s slotted) of(at history.Offset) int {
	return int(min(max(at-s.from, 0)/s.step, history.Offset(s.n-1)))
}

// add records an answer at the moment when its request was due.
func (a *laneWaits) add(r *history.Request, s slotted) {
	slot := &a.slots[s.of(r.Due)]
	if took := r.Done - r.Sent; took > slot.took {
		slot.took, slot.at = took, r.Sent
	}
	slot.due = max(slot.due, r.Done-r.Due)
}

// cover records how long an answer took, in each slot in which it was awaited.
func (a *laneWaits) cover(r *history.Request, s slotted) {
	first, last := s.of(r.Due), s.of(r.Done)
	for i := first; i <= min(last, first+maxCovered); i++ {
		a.slots[i].due = max(a.slots[i].due, r.Done-r.Due)
	}
}

// during is the longest time of an answer that was awaited at a time.
func (a *laneWaits) during(from, to history.Offset, s slotted) (longest time.Duration) {
	first, last := s.of(from), s.of(to)
	for i := first; i <= min(last, first+maxCovered); i++ {
		longest = max(longest, a.slots[i].due)
	}
	return longest
}
