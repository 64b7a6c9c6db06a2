package invariant

import (
	"encoding/json"
	"fmt"
)

// unknown turns a verdict into one without the evidence for any other.
func (v Verdict) unknown(d doubts) Verdict {
	v.Outcome, v.At = Unknown, 0
	v.Seen = "no verdict: " + d[0]
	if more := len(d) - 1; more > 0 {
		v.Seen += fmt.Sprintf(" (and %s)", count(more, "more reason"))
	}
	v.Evidence = nil
	v.support(d...)
	return v
}

// held says Held, unless there are doubts.
func (v Verdict) held(d doubts, seen string, args ...any) Verdict {
	if len(d) > 0 {
		return v.unknown(d)
	}
	v.Outcome, v.Seen = Held, fmt.Sprintf(seen, args...)
	return v
}

// violated says Violated. What was seen to break a promise stays broken however thin the rest of the evidence is; the
// doubts are the last lines of the evidence. What only looks so because a watch was blind was not seen: see facts.blind.
func (v Verdict) violated(d doubts, seen string, args ...any) Verdict {
	v.Outcome, v.Seen = Violated, fmt.Sprintf(seen, args...)
	if n := min(len(d), MaxEvidence/2); len(v.Evidence) > MaxEvidence-n {
		v.Evidence = v.Evidence[:MaxEvidence-n]
	}
	for _, doubt := range d {
		v.support("thin evidence: " + doubt)
	}
	return v
}

// support adds lines of evidence, the most telling first.
func (v *Verdict) support(lines ...string) {
	for _, line := range lines {
		if len(v.Evidence) < MaxEvidence {
			v.Evidence = append(v.Evidence, line)
		}
	}
}

// measure keeps a figure.
func (v *Verdict) measure(name string, value float64) {
	if v.Numbers == nil {
		v.Numbers = make(map[string]float64)
	}
	v.Numbers[name] = value
}

// doubts are the reasons why the evidence is not there. None: it is.
type doubts []string

func (d *doubts) add(format string, args ...any) { *d = append(*d, fmt.Sprintf(format, args...)) }

// CaughtNumber is the number of a verdict by Caught that is 1 if the mutant was caught and 0 if it was missed. An Unknown has none.
const CaughtNumber = "caught"

func (v Verdict) written() (json.RawMessage, error) {
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
