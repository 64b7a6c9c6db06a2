package judge

import (
	"fmt"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/requests"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// Doubt is the reason, in a word, why a promise is Unknown. A mutant of the harness names the doubt that it plants.
type Doubt string

// DoubtStarvedWorker is the doubt that a load worker with too little processor time plants: it sent too few requests, or sent them
// too late, or timed out before answers that had arrived, and its own samples of noise say that its CPU quota throttled it. The
// record is whole nevertheless.
const DoubtStarvedWorker Doubt = "starved-load-worker"

// doubted turns the verdict of a broken harness into the verdict on its mutant.
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
	case by.Numbers[evidence.BusyNumber] > 0:
		return v.Unknown(verdict.Missing{"the machine was busy, which may be the reason instead of the planted one: " + by.Seen})
	case all > by.Numbers[requests.StarvedNumber] || all+by.Numbers[requests.ExcusedNumber] == 0:
		return v.Unknown(verdict.Missing{"the promise is Unknown for another reason than the planted one: " + by.Seen})
	case heard == nil:
		return v.Unknown(verdict.Missing{"no load worker reports that its CPU quota throttled it, so this is not the planted doubt: " + by.Seen})
	}
	v.Measure(verdict.CaughtNumber, 1)
	v.Support(evidence.DescribeNoise(heard))
	return v.Held(nil, "caught: %s; %s", by.Seen, evidence.DescribeNoise(heard))
}
