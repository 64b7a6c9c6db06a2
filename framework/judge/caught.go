package judge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/failures"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/requests"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// Caught judges a mutant by its record and by the verdicts on it, which are in the order of the record's promises. The harness
// promises that the named promise catches what the mutant removes.
//
// Held means caught: the record is whole, every fault took effect, and the promise with its parameters was Violated, on each lane
// that the mutant is about, by requests that were sent after the first fault began, and mostly for the planted cause or for a reason
// that the record does not refute. A mutant of the harness is caught if the promise was Unknown for the planted doubt alone. Violated means missed. Anything
// else is Unknown, with the reason. A mutant that is caught by chance only may be missed: that is Held, and CaughtNumber tells the
// two apart.
//
// A promise about where pods are (invariant.PlacementInvariant) may be broken as soon as a bad workload is deployed.
func Caught(run history.Run, verdicts []verdict.Verdict) verdict.Verdict {
	v := verdict.Verdict{Kind: "Caught", Promise: "a mutant is caught"}
	m := run.Header.Mutant
	if m == nil {
		return v.Unknown(verdict.Missing{"the record is of no mutant"})
	}
	v.Promise = m.CaughtBy + " catches a workload without " + m.Removed
	if m.Harness {
		v.Promise = m.CaughtBy + " is Unknown for a harness without " + m.Removed
	}
	f := evidence.New(run)
	by, why := named(run.Header, verdicts)
	v.At, v.Evidence = by.At, slices.Clone(by.Evidence)
	v.Numbers, v.Limits = maps.Clone(by.Numbers), maps.Clone(by.Limits)
	d := proves(f, m.CaughtBy)
	switch {
	case len(d) > 0:
		failures.SetCauses(v, nil)
		return v.Unknown(d)
	case why != "":
		return v.Unknown(verdict.Missing{why})
	case m.Harness:
		return doubted(v, f, m, by)
	}
	return caught(v, f, m, by)
}

// proves reports what a record lacks to say anything about a mutant.
func proves(f *evidence.Run, kind string) verdict.Missing {
	var needs evidence.Needs
	if p := invariant.Of(kind); p != nil {
		needs = p.Needs()
	}
	switch {
	case needs.Watches == evidence.Unwatched:
	case judgesLanes(kind):
		needs.Watches, needs.Since = evidence.Ordered, evidence.Undisturbed
	default:
		needs.Watches, needs.Since = evidence.Ordered, evidence.Deployed
	}
	needs.Standing = true
	return f.Lacks(needs)
}

// named finds the verdict on the promise that a mutant names. An older record names only the kind; the worst verdict of that kind
// counts. Why says what is wrong with the name; empty: nothing.
func named(h history.Header, verdicts []verdict.Verdict) (by verdict.Verdict, why string) {
	m := h.Mutant
	if len(verdicts) == 0 {
		return by, m.CaughtBy + " was not judged"
	}
	if len(verdicts) != len(h.Promises) {
		return by, fmt.Sprintf("the record has %s, but %s were given", prose.Count(len(h.Promises), "promise"), prose.Count(len(verdicts), "verdict"))
	}
	var of []verdict.Verdict
	for i, p := range h.Promises {
		if p.Kind != m.CaughtBy || len(m.Params) > 0 && !sameParams(p.Params, m.Params) {
			continue
		}
		if verdicts[i].Kind != p.Kind {
			return by, fmt.Sprintf("verdict %d is on %s, but the promise is %s", i+1, verdicts[i].Kind, p.Kind)
		}
		of = append(of, verdicts[i])
	}
	if len(of) == 0 {
		return by, fmt.Sprintf("the mutant names %s %s, which the scenario does not promise", m.CaughtBy, m.Params)
	}
	outcome := Overall(of)
	if i := slices.IndexFunc(of, func(v verdict.Verdict) bool { return v.Outcome == outcome }); i >= 0 {
		return of[i], ""
	}
	return by, m.CaughtBy + " has no verdict"
}

// sameParams compares parameters by their values.
func sameParams(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	if json.Compact(&x, a) != nil || json.Compact(&y, b) != nil {
		return false
	}
	return bytes.Equal(x.Bytes(), y.Bytes())
}

// caught turns the verdict on a broken workload into the verdict on its mutant.
func caught(v verdict.Verdict, f *evidence.Run, m *history.Mutant, by verdict.Verdict) verdict.Verdict {
	switch by.Outcome {
	case verdict.Violated:
	case verdict.Held:
		failures.SetCauses(v, nil)
		if why := unmet(f, m); why != "" {
			return v.Unknown(verdict.Missing{why + "; " + by.Seen})
		}
		return missed(v, m, by.Seen)
	default:
		failures.SetCauses(v, nil)
		v.Outcome, v.At, v.Seen = verdict.Unknown, 0, by.Seen
		return v
	}
	causes := causesOf(by)
	var lanes []history.Lane
	if judgesLanes(by.Kind) && failures.SaysSince(v) {
		var why string
		if lanes, why = aboutLanes(f, m); why != "" {
			return v.Unknown(verdict.Missing{why})
		}
		broken := slices.DeleteFunc(slices.Clone(lanes), func(l history.Lane) bool { return failures.FailedSince(v, l, m.Cause) == 0 })
		if anyLane := len(m.Params)+len(m.Lanes) == 0; len(broken) < len(lanes) && (!anyLane || len(broken) == 0) {
			return laneMissed(v, m, by, lanes, broken)
		}
		if NamesCauses(by.Kind) {
			causes = failures.CausesSince(v, lanes)
			failures.SetCauses(v, causes)
		}
	} else if why := early(f, m, by); why != "" {
		return v.Unknown(verdict.Missing{why})
	}
	if reported := mostly(causes); m.Cause != "" && reported != attribution.Cause(m.Cause) {
		return v.Unknown(verdict.Missing{fmt.Sprintf("%s is the cause that was planted, but %s was reported: %s", m.Cause, reported, by.Seen)})
	}
	if why := refuted(f, m, by, lanes); why != "" {
		return v.Unknown(verdict.Missing{fmt.Sprintf("the record shows another reason than the planted one: %s; %s", why, by.Seen)})
	}
	v.Measure(verdict.CaughtNumber, 1)
	return v.Held(nil, "caught: %s", by.Seen)
}

// missed is the verdict on a mutant that was not caught. A mutant that may escape has kept its promise.
func missed(v verdict.Verdict, m *history.Mutant, seen string) verdict.Verdict {
	v.Measure(verdict.CaughtNumber, 0)
	if m.ByChance {
		return v.Held(nil, "not caught, which is allowed, because this mutant is caught by chance only: %s", seen)
	}
	return v.Violated(nil, "missed: %s", seen)
}

// laneMissed is the verdict where no request failed for the planted cause on some lanes that the mutant is about. The mutant was
// missed there only if the promise had all of its evidence.
func laneMissed(v verdict.Verdict, m *history.Mutant, by verdict.Verdict, lanes, broken []history.Lane) verdict.Verdict {
	left := slices.DeleteFunc(slices.Clone(lanes), func(l history.Lane) bool { return slices.Contains(broken, l) })
	names := make([]string, len(left))
	var others float64 // requests that failed there for other causes
	for i, lane := range left {
		names[i] = string(lane)
		others += v.Numbers[failures.SinceNumber+string(lane)]
	}
	of := ""
	if m.Cause != "" {
		of = " for " + m.Cause
	}
	seen := fmt.Sprintf("of the requests on %s that were sent after the first fault began, none failed%s; of all requests: %s", prose.List(names), of, by.Seen)
	if doubted := v.Numbers[requests.DoubtsNumber] > 0; doubted || others > 0 || v.Numbers[requests.ExcusedNumber] > 0 {
		return v.Unknown(verdict.Missing{seen})
	}
	return missed(v, m, seen)
}

// judgesLanes says whether a kind of promise judges each lane by itself.
func judgesLanes(kind string) bool {
	_, ok := invariant.Of(kind).(invariant.LaneInvariant)
	return ok
}

// early describes how a promise was broken before the first fault began; empty: it was not.
func early(f *evidence.Run, m *history.Mutant, by verdict.Verdict) string {
	first := f.FirstFault()
	_, placement := invariant.Of(by.Kind).(invariant.PlacementInvariant)
	switch {
	case placement: // is about where pods are, before a fault as well as after it
		return ""
	case judgesLanes(by.Kind) && len(m.Lanes) > 0:
		return "the verdict, from an older version of holdfast, does not say which requests failed after the first fault began; judge the record again"
	case by.At != 0 && by.At < first.At:
		return fmt.Sprintf("the promise was broken at %s, before the first fault began at %s: %s", prose.Moment(by.At), prose.Moment(first.At), by.Seen)
	}
	return ""
}
