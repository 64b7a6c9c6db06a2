package certify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/certificate"
)

// gateReasons are what keeps every profile from being certified, whatever the scenarios found: a missing or incomplete run, or an upgrade
// that failed, broke a promise or lacks evidence.
func gateReasons(c *certificate.Certificate, runs []*storedRun) (why []string) {
	if f := c.Failure; f != nil {
		why = append(why, "the upgrade "+failureInWords(f))
	}
	for _, f := range runs {
		if f.missing != "" {
			why = append(why, fmt.Sprintf("%s proves nothing: %s", f.what, f.missing))
		}
	}
	switch u := &c.Upgrade; {
	case u.Verdict == reports.Violated:
		for _, broken := range brokenPromises(&u.Side) {
			why = append(why, "during the upgrade: "+broken+failingSteps(u))
		}
	case u.Verdict != reports.Held:
		why = append(why, "nothing is known about the upgrade itself: "+u.Why)
	}
	return appendNew(nil, why...)
}

// failureInWords says where the upgrade stopped, and why.
func failureInWords(f *certificate.Failure) string {
	where := ""
	if f.Node != "" {
		where = " on " + f.Node
	}
	return fmt.Sprintf("stopped at %q%s: %s%s", f.Step, where, f.Why, certificate.CauseInWords(f.Cause))
}

// scenarioReasons are why a scenario does not certify its feature; none if it does.
func scenarioReasons(c *certificate.Certificate, feature string, s *certificate.Scenario, runs []*storedRun) (why []string) {
	add := func(what string, args ...any) {
		why = append(why, fmt.Sprintf("%s, %s: ", feature, s.Name)+fmt.Sprintf(what, args...))
	}
	before, after := cmp.Or(c.From.Kubernetes, "the old version"), cmp.Or(c.To.Kubernetes, "the new version")
	all := func(side *certificate.Side) string { return strings.Join(brokenPromises(side), "; ") }
	switch was, is := s.Before.Verdict, s.After.Verdict; {
	case was == reports.Violated && is == reports.Violated:
		add("Violated before the upgrade too, so the upgrade is not the cause: %s", all(&s.After))
	case was == reports.Violated && is == reports.Held:
		add("Violated on %s, before the upgrade, but held on %s: %s", before, after, all(&s.Before))
	case was == reports.Violated:
		add("Violated on %s, before the upgrade: %s", before, all(&s.Before))
	case is == reports.Violated && was == reports.Held:
		add("held on %s, but was Violated on %s: %s", before, after, all(&s.After))
	case is == reports.Violated:
		add("Violated on %s, and nothing is known about it on %s: %s", after, before, all(&s.After))
	}
	for i, side := range []*certificate.Side{&s.Before, &s.After} {
		when := []string{"before", "after"}[i]
		switch side.Verdict {
		case reports.Unknown:
			if f := runs[2*i]; f.missing == "" || side.Record != "" { // otherwise it is one of gateReasons
				add("Unknown %s the upgrade: %s", when, side.Why)
			}
		case reports.Interrupted, reports.NotBegun:
			add("%s the upgrade: %s", when, side.Why)
		case reports.Skipped:
			why = appendNew(why, fmt.Sprintf("%s, %s: skipped: %s", feature, s.Name, side.Why))
		case reports.NotSupported:
			why = appendNew(why, fmt.Sprintf("%s, %s: not supported: %s", feature, s.Name, side.Why))
		}
	}
	return why
}

// brokenPromises says which promises were broken, and why.
func brokenPromises(s *certificate.Side) (list []string) {
	for i := range s.Promises {
		p := &s.Promises[i]
		if p.Verdict != reports.Violated {
			continue
		}
		list = append(list, fmt.Sprintf("the promise %q was broken: %s%s", p.Promise, p.Seen, certificate.CauseInWords(p.Cause)))
	}
	if len(list) == 0 && s.Verdict == reports.Violated {
		list = append(list, s.Why)
	}
	return list
}

// failingSteps names the steps during which most requests failed; empty if none failed.
func failingSteps(u *certificate.Upgrade) string {
	const most = 3
	failing := slices.DeleteFunc(slices.Clone(u.Steps), func(s certificate.Step) bool { return s.Failed == 0 })
	slices.SortStableFunc(failing, func(a, b certificate.Step) int { return cmp.Compare(b.Failed, a.Failed) })
	var parts []string
	for _, s := range failing[:min(most, len(failing))] {
		text := fmt.Sprintf("%d failed during %q", s.Failed, s.What)
		if s.Node != "" {
			text += " on " + s.Node
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return ""
	}
	return "; " + strings.Join(parts, ", ")
}
