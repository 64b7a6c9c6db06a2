package evidence

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// Explains says whether a pause of the load worker explains that a request timed out, or that its answer came late: except for the time
// that an answer takes, the worker was paused from the sending of the request to its end. A worker that ran for longer would have received an answer, so
// shorter pauses do not add up. Time that a quota or the hypervisor took counts only as a pause. A pause of the client never explains
// an explicit failure (refused, reset, a wrong answer).
func (n *noise) Explains(r *history.Request) bool {
	if !Slow(r.Outcome) {
		return false
	}
	samples, waited := n.Of[r.Worker], r.Done-r.Sent
	first, _ := slices.BinarySearchFunc(samples, r.Sent, func(e history.Event, at history.Offset) int { return cmp.Compare(e.T, at) })
	for _, e := range samples[first:] {
		if e.Noise.Since-e.Noise.Pause > r.Done {
			break
		}
		end := min(max(r.Done, e.Noise.Since), e.T) // the pause ended at some time between the two
		if still := min(end, r.Done) - max(end-e.Noise.Pause, r.Sent); still > 0 && waited-still <= n.answer(r) {
			return true
		}
	}
	return false
}

// answer is how long an answer to a request takes, at most half the time after which the request timed out.
func (n *noise) answer(r *history.Request) time.Duration {
	takes := promptly
	if took := n.Took[r.Lane]; took != nil && r.Outcome != history.TimeoutConnect {
		takes = max(takes, took.Quantile(0.999))
	}
	return min(takes, (r.Done-r.Sent)/2)
}

// promptly is how late a worker on two busy cores may receive an immediate answer: in runs that held beside compilers, requests were
// sent up to 90 ms late.
const promptly = 100 * time.Millisecond

// givenUp says whether a time-out of the client ended a request.
func givenUp(o history.Outcome) bool {
	return o == history.TimeoutConnect || o == history.TimeoutResponse || o == history.Stall
}

// Slow says whether a request failed only because it took too long by the client's clock.
func Slow(o history.Outcome) bool { return givenUp(o) || o == history.Late }

// Unanswered says whether a request failed without any answer.
func Unanswered(o history.Outcome) bool { return givenUp(o) || o == history.Other }
