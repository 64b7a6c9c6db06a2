// Package backend is the server under test: it answers every request with its own name, node, zone and revision, and it can
// be configured to misbehave.
//
// It does not deploy itself; package workloads makes the objects that run it.
package backend
