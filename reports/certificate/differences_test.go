package certificate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/reports"
)

func TestMarked(t *testing.T) {
	for _, test := range []struct {
		was, is, factor, floor float64
		want                   bool
	}{
		{2, 7.1, 2, 5, true},
		{7.1, 2, 2, 5, true},    // better is a difference, too
		{2, 7, 2, 5, false},     // exactly so much
		{20, 26, 2, 5, false},   // much, and not in proportion
		{0, 5.1, 2, 5, true},    // from nothing
		{0.1, 0.9, 2, 5, false}, // nine times of nearly nothing
		{0, 0, 1, 0, false},
	} {
		if got := Marked(test.was, test.is, test.factor, test.floor); got != test.want {
			t.Errorf("from %v to %v, %v times and %v: %v", test.was, test.is, test.factor, test.floor, got)
		}
	}
}

func TestDifference(t *testing.T) {
	side := func(v reports.Result, cause string) Side {
		return Side{Verdict: v, Promises: []Promise{{Promise: "a", Kind: "NoFailedRequests", Verdict: v, Cause: cause}}}
	}
	held, late, cut, unknown := side(reports.Held, ""), side(reports.Violated, "late-endpoint"), side(reports.Violated, "cut-at-sigterm"), side(reports.Unknown, "")
	for name, test := range map[string]struct {
		before, after *Side
		want          []Difference
	}{
		"none":                      {&held, &held, []Difference{}},
		"worse":                     {&held, &unknown, []Difference{{"verdict", "Held", "Unknown", true}, {"NoFailedRequests", "Held", "Unknown", true}}},
		"better":                    {&late, &held, []Difference{{"verdict", "Violated", "Held", false}, {"NoFailedRequests", "Violated", "Held", false}}},
		"broken for another reason": {&late, &cut, []Difference{{"cause", "late-endpoint", "cut-at-sigterm", false}}},
		"a new promise":             {&Side{Verdict: reports.Held}, &held, []Difference{}},
		"numbers": {
			&Side{Verdict: reports.Held, RecoverySeconds: new(1.0), SettledSkew: new(2), Lanes: []Lane{{Name: "fresh", P99Seconds: 0.01}}},
			&Side{Verdict: reports.Held, RecoverySeconds: new(9.0), SettledSkew: new(0), Lanes: []Lane{{Name: "fresh", P99Seconds: 0.5}, {Name: "control", P99Seconds: 5}}},
			[]Difference{{"recovery", "1 s", "9 s", true}, {"p99", "10 ms", "500 ms", true}, {"skew", "2", "0", false}},
		},
		"a number on one side alone": {&Side{Verdict: reports.Held, RecoverySeconds: new(1.0)}, &Side{Verdict: reports.Held, SettledSkew: new(9)}, []Difference{}},
	} {
		if diff := cmp.Diff(test.want, difference(test.before, test.after)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestCauseOf(t *testing.T) {
	for why, want := range map[string]string{
		`Internal error occurred: failed calling webhook "guard.example.com": no endpoints available for service "guard"`: "webhook-unreachable",
		`admission webhook "guard.example.com" denied the request`:                                                        "webhook-denied",
		"Cannot evict pod as it would violate the pod's disruption budget.":                                               "budget-refuses",
		"waited 60s for pod x: last seen ErrImagePull":                                                                    "image-missing",
		"exit status 1": "",
	} {
		if got := CauseOf(why); got != want {
			t.Errorf("%s: %q, want %q", why, got, want)
		}
	}
}

func TestFeatureResults(t *testing.T) {
	for _, test := range []struct {
		verdicts []reports.Result
		want     Result
	}{
		{nil, NoEvidence},
		{[]reports.Result{reports.Held, reports.Held}, Certified},
		{[]reports.Result{reports.Held, reports.Unknown}, NoEvidence},
		{[]reports.Result{reports.Held, reports.Unknown, reports.Violated}, NotCertified},
		{[]reports.Result{reports.Held, reports.Skipped}, Partial},
		{[]reports.Result{reports.Held, reports.NotSupported}, Partial},
		{[]reports.Result{reports.Unknown, reports.Skipped}, NoEvidence},
		{[]reports.Result{reports.Skipped, reports.NotSupported}, NotSupported},
		{[]reports.Result{reports.Skipped}, Skipped},
	} {
		if got := featureResult(test.verdicts); got != test.want {
			t.Errorf("%q: %s, want %s", test.verdicts, got, test.want)
		}
	}
	for _, test := range []struct {
		features []Result
		want     Result
	}{
		{nil, NotCertified},
		{[]Result{Certified, Certified}, Certified},
		{[]Result{Certified, NoEvidence}, Partial},
		{[]Result{Certified, Skipped}, Partial},
		{[]Result{Partial}, Partial},
		{[]Result{Certified, NotCertified}, NotCertified},
		{[]Result{NoEvidence, Skipped, NotSupported}, NotCertified},
		{[]Result{"of the future"}, NotCertified},
		{[]Result{Certified, "of the future"}, Partial},
	} {
		if got := sumUp(test.features, false); got != test.want {
			t.Errorf("%q: %s, want %s", test.features, got, test.want)
		}
		if got := sumUp(test.features, true); got != NotCertified {
			t.Errorf("%q, and the gate is shut: %s", test.features, got)
		}
	}
}
