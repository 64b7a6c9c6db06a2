package evidence

import "github.com/holdfast-ha/holdfast/framework/history"

// Reached says whether the pod that a request names has itself confirmed that the request reached it: the pod is not inferred, and no
// other pod was tried before it.
func Reached(r *history.Request) bool {
	return r.Pod != "" && !r.Inferred && r.Outcome != history.Unsent && r.Outcome != history.Masked
}
