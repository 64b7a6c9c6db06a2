// Package timeline folds the events of a record into one timeline for each pod, node and endpoint: what the watches reported
// of the object, in order, and since when it was in each of its states.
//
// It is the only place that derives such states from events. It draws no conclusions: why a pod ended, and whether a promise
// was kept, is decided by the packages below framework/judge/analysis. It also folds the marks of faults and of steps into their lives, and what is
// seen of a rolling update into why it does not come to its end. It knows no requests.
//
// All times are offsets from the run's base (history.Offset). A report is dated when the harness received it, which is never
// earlier than the change. The reports of one watch are in the order of the changes. The events must be ordered by T, as they
// are in every history.Run. The results share the events' payloads and are read-only.
package timeline
