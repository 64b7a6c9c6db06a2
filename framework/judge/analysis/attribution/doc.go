// Package attribution finds out why requests failed: to which pod, or pods, a failed request may have been sent, what was wrong
// with the pod at that moment, and what an engineer would change.
//
// It reads the timelines of pods, endpoints and nodes, the faults, and the answers to other requests: a pod that accepted new
// connections just before and just after a failure was listening. Failures that nothing recorded explains stay CauseUnknown.
// It does not judge promises, and it does not decide which failures the harness's own noise excuses (package failures).
//
// Failed requests are grouped, so memory does not grow with their number. The causes are known only when all requests were
// read, because later answers count as evidence.
package attribution
