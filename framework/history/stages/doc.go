// Package stages folds the marks of a record into one life for each fault and each step of a long operation: which stages it
// reached, and when.
//
// It draws no conclusions. The results share the events' payloads and are read-only.
package stages
