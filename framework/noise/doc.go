// Package noise measures how well the process that it runs in gets to run: its own pauses, and what its machine says of
// itself. Who judges a run by what clients saw has to know what the harness did to them.
//
// It judges nothing: that is package invariant's.
package noise
