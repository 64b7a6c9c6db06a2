package verdict

import (
	"encoding/json"
	"fmt"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
)

// Unknown is v without the evidence for another outcome. Missing must not be empty.
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

// NotTested is v of a recording in which nothing happened that the promise is about, although nothing is missing.
func (v Verdict) NotTested(why string) Verdict {
	v = v.Unknown(Missing{why})
	v.Untested, v.Seen = true, NotTestedWords+why
	return v
}

// NotTestedWords begin what was seen of a promise that was not tested.
const NotTestedWords = "not tested: "

// Held is v as Held, or as Unknown if evidence is missing.
func (v Verdict) Held(d Missing, seen string, args ...any) Verdict {
	if len(d) > 0 {
		return v.Unknown(d)
	}
	v.Outcome, v.Seen = Held, fmt.Sprintf(seen, args...)
	return v
}

// Violated is v as Violated. What was seen to break a promise stays broken, however much evidence is missing; what is missing comes
// last in Evidence. A break that only a gap of a watch explains was not seen: see evidence.Run.Blind.
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

// AtMost keeps the limit of a figure that must not be exceeded.
func (v *Verdict) AtMost(name string, limit float64) { v.limit(name, Limit{AtMost: &limit}) }

// AtLeast keeps the limit of a figure that must be reached.
func (v *Verdict) AtLeast(name string, limit float64) { v.limit(name, Limit{AtLeast: &limit}) }

func (v *Verdict) limit(name string, l Limit) {
	if v.Limits == nil {
		v.Limits = make(map[string]Limit)
	}
	v.Limits[name] = l
}

// Missing are the reasons why a promise has no evidence; none: the evidence is there.
type Missing []string

// Add adds a reason.
func (d *Missing) Add(format string, args ...any) { *d = append(*d, fmt.Sprintf(format, args...)) }

// CaughtNumber is the number in a verdict of Caught that is 1 if the mutant was caught and 0 if it was missed. An Unknown has no
// such number.
const CaughtNumber = "caught"

// Written returns the verdict as JSON, as it is stored beside the record.
func (v Verdict) Written() (json.RawMessage, error) {
	raw, err := json.Marshal(v)
	if err != nil { // a number that is not finite, which no promise measures
		return nil, fmt.Errorf("write down the verdict on %q: %w", v.Promise, err)
	}
	return raw, nil
}

// Escaped says of the verdict on a mutant that the mutant was not caught, and may escape.
func (v Verdict) Escaped() bool {
	caught, told := v.Numbers[CaughtNumber]
	return v.Outcome == Held && told && caught == 0
}
