package evidence

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// Explains tells whether the load worker's own pause explains that it gave a request up: but for the time that an answer takes,
// it stood still from the sending to the giving up. Before and after that it ran, and would have taken an answer that was there;
// so shorter pauses do not add up, and what a quota or a hypervisor takes from it counts as far as it shows as a pause. What the
// system said in so many words (refused, reset, a wrong answer) no pause of a client's makes it say.
func (n *noise) Explains(r *history.Request) bool {
	if !givenUp(r.Outcome) {
		return false
	}
	samples, waited := n.Of[r.Worker], r.Done-r.Sent
	first, _ := slices.BinarySearchFunc(samples, r.Sent, func(e history.Event, at history.Offset) int { return cmp.Compare(e.T, at) })
	for _, e := range samples[first:] {
		if e.Noise.Since-e.Noise.Pause > r.Done {
			break
		}
		end := min(max(r.Done, e.Noise.Since), e.T) // of the pause: it was noticed at some time between the two
		if still := min(end, r.Done) - max(end-e.Noise.Pause, r.Sent); still > 0 && waited-still <= n.answer(r) {
			return true
		}
	}
	return false
}

// answer is how long an answer to a request takes, at the most half the time after which it was given up.
func (n *noise) answer(r *history.Request) time.Duration {
	takes := promptly
	if took := n.Took[r.Lane]; took != nil && r.Outcome != history.TimeoutConnect {
		takes = max(takes, took.Quantile(0.999))
	}
	return min(takes, (r.Done-r.Sent)/2)
}

// promptly is how long an answer takes that is there at once, to a worker on two busy cores: in runs that held beside compilers,
// requests were sent up to 90 ms late.
const promptly = 100 * time.Millisecond

// givenUp tells whether the client's patience ended a request.
func givenUp(o history.Outcome) bool {
	return o == history.TimeoutConnect || o == history.TimeoutResponse || o == history.Stall
}

// Unanswered tells whether a request failed without a word from anybody.
func Unanswered(o history.Outcome) bool { return givenUp(o) || o == history.Other }
