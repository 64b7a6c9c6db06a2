package invariant

import (
	"fmt"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// Doubt says in a word why a promise is Unknown. Mutants of the harness name the one that they plant.
type Doubt string

// DoubtStarvedWorker is the doubt that a load worker plants which gets too little processor time: it sent too little, or too late,
// or gave up on answers that were there, and its own samples of noise say that its quota kept it from running. The record is whole
// all the same.
const DoubtStarvedWorker Doubt = "starved-load-worker"

// doubted turns round what the promise said of a harness that was broken.
func (v Verdict) doubted(f *facts, m *history.Mutant, by Verdict) Verdict {
	switch by.Outcome {
	case Held:
		return v.missed(m, "it held: "+by.Seen)
	case Violated:
		return v.missed(m, "the workload was blamed: "+by.Seen)
	}
	if known := Doubt(m.Doubt); known != "" && known != DoubtStarvedWorker {
		return v.unknown(doubts{fmt.Sprintf("this holdfast knows no doubt %q that a mutant can plant, only %s", known, DoubtStarvedWorker)})
	}
	all, counted := by.Numbers[doubtsNumber]
	heard := f.starvedBy()
	switch {
	case !counted:
		return v.unknown(doubts{"its verdict does not count its doubts, as one of today's would: judge the record again"})
	case all > by.Numbers[starvedNumber] || all+by.Numbers[excusedNumber] == 0:
		return v.unknown(doubts{"it is Unknown for another reason than the planted one: " + by.Seen})
	case heard == nil:
		return v.unknown(doubts{"no load worker says that its quota kept it from running, so this is not the planted doubt: " + by.Seen})
	}
	v.measure(CaughtNumber, 1)
	v.support(inWords(heard))
	return v.held(nil, "caught: %s; %s", by.Seen, inWords(heard))
}
