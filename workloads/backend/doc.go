// Package backend is the server under test: it answers every request with its own name, node, zone and revision, and
// can be told to behave badly.
//
// It does not deploy itself; package workloads makes the objects that run it.
package backend
