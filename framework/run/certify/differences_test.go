package certify

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/certificate"
)

func TestDifference(t *testing.T) {
	side := func(v reports.Result, cause string) certificate.Side {
		return certificate.Side{Verdict: v, Promises: []certificate.Promise{{Promise: "a", Kind: "NoFailedRequests", Verdict: v, Cause: cause}}}
	}
	held, late, cut, unknown := side(reports.Held, ""), side(reports.Violated, "late-endpoint"), side(reports.Violated, "cut-at-sigterm"), side(reports.Unknown, "")
	for name, test := range map[string]struct {
		before, after *certificate.Side
		want          []certificate.Difference
	}{
		"none":                      {&held, &held, []certificate.Difference{}},
		"worse":                     {&held, &unknown, []certificate.Difference{{What: "verdict", Before: "Held", After: "Unknown", Worse: true}, {What: "NoFailedRequests", Before: "Held", After: "Unknown", Worse: true}}},
		"better":                    {&late, &held, []certificate.Difference{{What: "verdict", Before: "Violated", After: "Held", Worse: false}, {What: "NoFailedRequests", Before: "Violated", After: "Held", Worse: false}}},
		"broken for another reason": {&late, &cut, []certificate.Difference{{What: "cause", Before: "late-endpoint", After: "cut-at-sigterm", Worse: false}}},
		"a new promise":             {&certificate.Side{Verdict: reports.Held}, &held, []certificate.Difference{}},
		"numbers": {
			&certificate.Side{Verdict: reports.Held, RecoverySeconds: new(1.0), SettledSkew: new(2), Lanes: []certificate.Lane{{Name: "fresh", P99Seconds: 0.01}}},
			&certificate.Side{Verdict: reports.Held, RecoverySeconds: new(9.0), SettledSkew: new(0), Lanes: []certificate.Lane{{Name: "fresh", P99Seconds: 0.5}, {Name: "control", P99Seconds: 5}}},
			[]certificate.Difference{{What: "recovery", Before: "1 s", After: "9 s", Worse: true}, {What: "p99", Before: "10 ms", After: "500 ms", Worse: true}, {What: "skew", Before: "2", After: "0", Worse: false}},
		},
		"a number on one side alone": {&certificate.Side{Verdict: reports.Held, RecoverySeconds: new(1.0)}, &certificate.Side{Verdict: reports.Held, SettledSkew: new(9)}, []certificate.Difference{}},
	} {
		if diff := cmp.Diff(test.want, difference(test.before, test.after)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestFeatureResults(t *testing.T) {
	for _, test := range []struct {
		verdicts []reports.Result
		want     certificate.Result
	}{
		{nil, certificate.NoEvidence},
		{[]reports.Result{reports.Held, reports.Held}, certificate.Certified},
		{[]reports.Result{reports.Held, reports.Unknown}, certificate.NoEvidence},
		{[]reports.Result{reports.Held, reports.Unknown, reports.Violated}, certificate.NotCertified},
		{[]reports.Result{reports.Held, reports.Skipped}, certificate.Partial},
		{[]reports.Result{reports.Held, reports.NotSupported}, certificate.Partial},
		{[]reports.Result{reports.Unknown, reports.Skipped}, certificate.NoEvidence},
		{[]reports.Result{reports.Skipped, reports.NotSupported}, certificate.NotSupported},
		{[]reports.Result{reports.Skipped}, certificate.Skipped},
	} {
		if got := featureResult(test.verdicts); got != test.want {
			t.Errorf("%q: %s, want %s", test.verdicts, got, test.want)
		}
	}
	for _, test := range []struct {
		features []certificate.Result
		want     certificate.Result
	}{
		{nil, certificate.NotCertified},
		{[]certificate.Result{certificate.Certified, certificate.Certified}, certificate.Certified},
		{[]certificate.Result{certificate.Certified, certificate.NoEvidence}, certificate.Partial},
		{[]certificate.Result{certificate.Certified, certificate.Skipped}, certificate.Partial},
		{[]certificate.Result{certificate.Partial}, certificate.Partial},
		{[]certificate.Result{certificate.Certified, certificate.NotCertified}, certificate.NotCertified},
		{[]certificate.Result{certificate.NoEvidence, certificate.Skipped, certificate.NotSupported}, certificate.NotCertified},
		{[]certificate.Result{"of the future"}, certificate.NotCertified},
		{[]certificate.Result{certificate.Certified, "of the future"}, certificate.Partial},
	} {
		if got := sumUp(test.features, false); got != test.want {
			t.Errorf("%q: %s, want %s", test.features, got, test.want)
		}
		if got := sumUp(test.features, true); got != certificate.NotCertified {
			t.Errorf("%q, and the gate is shut: %s", test.features, got)
		}
	}
}
