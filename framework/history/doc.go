// Package history is the recorded run: plain data, and the files in which it is stored.
//
// It contains what was seen, with the time at which it was seen, and no conclusions: those are the verdicts of package
// invariant. The package contains no Kubernetes types, so a record does not depend on the client library that made it. Beyond the
// standard library it needs only what compresses closed files (package packed).
//
// Every time is an offset from the run's base on one monotonic clock (see Header.Base and Clock).
package history
