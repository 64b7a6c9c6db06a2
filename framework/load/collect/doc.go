// Package collect runs load in a pod, and collects its rows into the run's history.
//
// A worker (RunWorker) is a server in a pod. It gets a load.Plan, has package load send the requests of the plan's lanes, and
// keeps one row per request until it is told that the row is safe. The harness (Start) gives it the plan and collects the rows,
// through an API server that may be away for minutes. All calls are safe to repeat, so no row is lost or recorded twice.
//
// It neither sends requests nor judges them.
package collect
