// Package history is the recorded run: plain data, and the files it lies in.
//
// It holds what was seen, each thing with the moment it was seen, and nothing that was concluded from it: verdicts are
// the business of package invariant. It is a leaf: it imports the standard library only, and knows no Kubernetes types,
// so that a record outlives the client library that made it.
//
// Every moment is an offset from the run's base on one monotonic clock (see Header.Base and Clock).
package history
