// Package noise measures how much the process it runs in is delayed: its own pauses, what the machine reports about itself, and how long the machine
// slept.
// The judgement of a run by what clients saw must take into account how the harness itself disturbed those clients.
//
// This package does not judge. Package invariant does.
package noise
