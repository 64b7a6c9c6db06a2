// Package verdict holds what a judged promise comes to: Held, Violated or Unknown, with the sentence, the evidence and the numbers behind
// it. It judges nothing.
package verdict

import (
	"github.com/holdfast-ha/holdfast/framework/history"
)

// Outcome is Held, Violated or Unknown.
type Outcome string

// The outcomes. Unknown means that evidence is missing. It fails a run, as Violated does.
const (
	Held     Outcome = "held"
	Violated Outcome = "violated"
	Unknown  Outcome = "unknown"
)

// Verdict is the outcome of a promise.
type Verdict struct {
	Promise string  `json:"promise"` // Invariant.String()
	Kind    string  `json:"kind"`    // the invariant's type, for example NoFailedRequests
	Outcome Outcome `json:"outcome"`
	// Untested is set of an Unknown in a recording in which nothing happened that the promise is about, and nothing is missing. It does
	// not count where another promise was tested.
	Untested bool `json:"untested,omitempty"`
	// At is the moment that decided the outcome; zero when the whole record did.
	At history.Offset `json:"at"`
	// Seen says what was seen, in one sentence with its numbers.
	Seen string `json:"seen"`
	// Evidence are at most MaxEvidence lines that support the outcome, the most telling first.
	Evidence []string `json:"evidence,omitempty"`
	// Numbers are the measured figures by name. Durations are in seconds.
	Numbers map[string]float64 `json:"numbers,omitempty"`
	// Limits are the limits that the promise sets to some of the Numbers, by the number's name. Verdicts of older versions have none.
	Limits map[string]Limit `json:"limits,omitempty"`
}

// Limit is the limit of a number, which must be at most or at least so much.
type Limit struct {
	AtMost  *float64 `json:"atMost,omitempty"`
	AtLeast *float64 `json:"atLeast,omitempty"`
}

// Kept reports whether a number is within the limit.
func (l Limit) Kept(number float64) bool {
	return (l.AtMost == nil || number <= *l.AtMost) && (l.AtLeast == nil || number >= *l.AtLeast)
}

// MaxEvidence bounds a verdict's evidence lines.
const MaxEvidence = 10
