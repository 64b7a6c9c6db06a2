// Package noise measures how much the process it runs in is delayed: its own pauses, and what the machine reports about itself.
// The judgement of a run by what clients saw must take into account how the harness itself disturbed those clients.
//
// This package does not judge. Package invariant does.
package noise
