// Package collect runs load in pods, and collects its rows into the run's history.
//
// A worker (RunWorker) is a server in a pod. It gets its share of a load.Plan, has package load send those hits of the plan's lanes from
// a moment on that it is told beforehand, and keeps one row per hit until it is told that the row is safe. The harness (Start) gives the
// shares to all workers, measures their clocks, and collects their rows, through an API server that may be away for minutes. All calls
// are safe to repeat, so no row is lost or recorded twice. A worker that is lost is not replaced: its hits are missing in the record.
//
// It neither sends requests nor judges them.
package collect
