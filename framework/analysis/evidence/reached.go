package evidence

import "github.com/holdfast-ha/holdfast/framework/history"

// Reached tells whether it is known that a request reached the pod it names, in that pod's own words: not inferred, and
// not answered by another pod than the one that was tried first.
func Reached(r *history.Request) bool {
	return r.Pod != "" && !r.Inferred && r.Outcome != history.Unsent && r.Outcome != history.Masked
}
