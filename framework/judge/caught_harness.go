package judge

import (
	"fmt"

	"github.com/holdfast-ha/holdfast/framework/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/analysis/requests"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// Doubt says in a word why a promise is Unknown. Mutants of the harness name the one that they plant.
type Doubt string

// DoubtStarvedWorker is the doubt that a load worker plants which gets too little processor time: it sent too little, or too late,
// or gave up on answers that were there, and its own samples of noise say that its quota kept it from running. The record is whole
// all the same.
const DoubtStarvedWorker Doubt = "starved-load-worker"

// doubted turns round what the promise said of a harness that was broken.
func doubted(v verdict.Verdict, f *evidence.Run, m *history.Mutant, by verdict.Verdict) verdict.Verdict {
	switch by.Outcome {
	case verdict.Held:
		return missed(v, m, "it held: "+by.Seen)
	case verdict.Violated:
		return missed(v, m, "the workload was blamed: "+by.Seen)
	}
	if known := Doubt(m.Doubt); known != "" && known != DoubtStarvedWorker {
		return v.Unknown(verdict.Missing{fmt.Sprintf("this version of holdfast does not know the doubt %q that the mutant plants; it knows %s", known, DoubtStarvedWorker)})
	}
	all, counted := by.Numbers[requests.DoubtsNumber]
	heard := requests.StarvedBy(f)
	switch {
	case !counted:
		return v.Unknown(verdict.Missing{"the verdict, from an older version of holdfast, does not count its missing evidence; judge the record again"})
	case all > by.Numbers[requests.StarvedNumber] || all+by.Numbers[requests.ExcusedNumber] == 0:
		return v.Unknown(verdict.Missing{"the promise is Unknown for another reason than the planted one: " + by.Seen})
	case heard == nil:
		return v.Unknown(verdict.Missing{"no load worker reports that its CPU quota throttled it, so this is not the planted doubt: " + by.Seen})
	}
	v.Measure(verdict.CaughtNumber, 1)
	v.Support(evidence.InWords(heard))
	return v.Held(nil, "caught: %s; %s", by.Seen, evidence.InWords(heard))
}
