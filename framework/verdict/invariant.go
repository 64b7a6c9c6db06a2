// Package invariant holds the promises, one file each, and judges them on a recorded history.
//
// It is pure: it imports package history and the standard library, takes no clock, no cluster and no randomness, and
// gives the same verdict for the same record every time. It neither prints nor fails anything.
package verdict

import (
	"github.com/holdfast-ha/holdfast/framework/history"
)

// Outcome is one of three.
type Outcome string

// The outcomes. Unknown means that the evidence is not there, and fails a run as Violated does.
const (
	Held     Outcome = "held"
	Violated Outcome = "violated"
	Unknown  Outcome = "unknown"
)

// Verdict is what was found.
type Verdict struct {
	Promise string  `json:"promise"` // Invariant.String()
	Kind    string  `json:"kind"`    // the invariant's type, for example NoFailedRequests
	Outcome Outcome `json:"outcome"`
	// At is the instant that decided it; zero when the whole record did.
	At history.Offset `json:"at"`
	// Seen says what was seen, in one sentence with its numbers.
	Seen string `json:"seen"`
	// Evidence points at what supports it: a line each, the most telling first, at most MaxEvidence.
	Evidence []string `json:"evidence,omitempty"`
	// Numbers are the measured figures by name, for reports and comparisons. Durations are in seconds.
	Numbers map[string]float64 `json:"numbers,omitempty"`
}

// MaxEvidence bounds a verdict's evidence lines.
const MaxEvidence = 10
