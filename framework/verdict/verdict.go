package verdict

import (
	"encoding/json"
	"fmt"
	"github.com/holdfast-ha/holdfast/framework/prose"
)

// Unknown turns a verdict into one without the evidence for any other.
func (v Verdict) Unknown(d Missing) Verdict {
	v.Outcome, v.At = Unknown, 0
	v.Seen = "no verdict: " + d[0]
	if more := len(d) - 1; more > 0 {
		v.Seen += fmt.Sprintf(" (and %s)", prose.Count(more, "more reason"))
	}
	v.Evidence = nil
	v.Support(d...)
	return v
}

// Held says Held, unless there are doubts.
func (v Verdict) Held(d Missing, seen string, args ...any) Verdict {
	if len(d) > 0 {
		return v.Unknown(d)
	}
	v.Outcome, v.Seen = Held, fmt.Sprintf(seen, args...)
	return v
}

// Violated says Violated. What was seen to break a promise stays broken however thin the rest of the evidence is; the
// doubts are the last lines of the evidence. What only looks so because a watch was blind was not seen: see facts.blind.
func (v Verdict) Violated(d Missing, seen string, args ...any) Verdict {
	v.Outcome, v.Seen = Violated, fmt.Sprintf(seen, args...)
	if n := min(len(d), MaxEvidence/2); len(v.Evidence) > MaxEvidence-n {
		v.Evidence = v.Evidence[:MaxEvidence-n]
	}
	for _, doubt := range d {
		v.Support("missing evidence: " + doubt)
	}
	return v
}

// Support adds lines of evidence, the most telling first.
func (v *Verdict) Support(lines ...string) {
	for _, line := range lines {
		if len(v.Evidence) < MaxEvidence {
			v.Evidence = append(v.Evidence, line)
		}
	}
}

// Measure keeps a figure.
func (v *Verdict) Measure(name string, value float64) {
	if v.Numbers == nil {
		v.Numbers = make(map[string]float64)
	}
	v.Numbers[name] = value
}

// doubts are the reasons why the evidence is not there. None: it is.
type Missing []string

func (d *Missing) Add(format string, args ...any) { *d = append(*d, fmt.Sprintf(format, args...)) }

// CaughtNumber is the number of a verdict by Caught that is 1 if the mutant was caught and 0 if it was missed. An Unknown has none.
const CaughtNumber = "caught"

func (v Verdict) Written() (json.RawMessage, error) {
	raw, err := json.Marshal(v)
	if err != nil { // a number that is not finite, which no invariant measures
		return nil, fmt.Errorf("write down the verdict on %q: %w", v.Promise, err)
	}
	return raw, nil
}

// Escaped tells of the verdict on a mutant that it was not caught, and need not have been.
func (v Verdict) Escaped() bool {
	caught, told := v.Numbers[CaughtNumber]
	return v.Outcome == Held && told && caught == 0
}
