package evidence

import "github.com/holdfast-ha/holdfast/framework/history"

// Reached says whether the pod that a request names has itself confirmed that the request reached it: the pod is not inferred, and no
// other pod was tried before it.
func Reached(r *history.Request) bool {
	return r.Pod != "" && !r.Inferred && r.Outcome != history.Unsent && r.Outcome != history.Masked
}

// givenUp says whether a time-out of the client ended a request.
func givenUp(o history.Outcome) bool {
	return o == history.TimeoutConnect || o == history.TimeoutResponse || o == history.Stall
}

// Slow says whether a request failed only because it took too long by the client's clock.
func Slow(o history.Outcome) bool { return givenUp(o) || o == history.Late }

// Unanswered says whether a request failed without any answer.
func Unanswered(o history.Outcome) bool { return givenUp(o) || o == history.Other }
