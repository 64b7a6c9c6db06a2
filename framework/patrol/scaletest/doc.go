// Package scaletest is an API server for benchmarks: it answers lists of a large cluster, page by page, as JSON or Protobuf, compressed as a
// real one does. Its answers are encoded before anything is measured.
//
// It stores nothing, and refuses everything but lists.
package scaletest
