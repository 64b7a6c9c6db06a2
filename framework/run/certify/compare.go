package certify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/certificate"
)

// DiffKind is the kind of the document that Compare makes.
const DiffKind = "CertificateDiff"

// Diff is what differs between two certificates, A the older. Lists are empty, never null.
type Diff struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	A          Compared `json:"a"`
	B          Compared `json:"b"`
	// Regressions were certified or Held in A and are not in B, or are Violated in B only. Results that are missing, skipped or not
	// supported in B count: no evidence, no pass.
	Regressions []Change `json:"regressions"`
	// Missing were certified or Held in A, and are Unknown or incomplete in B.
	Missing []Change `json:"missing"`
	Better  []Change `json:"better"`
	// Different are marked numbers, and differences that are neither better nor worse.
	Different []Change `json:"different"`
	// Scenarios are the names of those that regressed. The upgrade is one of them.
	Scenarios []string `json:"scenarios"`
}

// Compared identifies a certificate.
type Compared struct {
	ID      string             `json:"id"`
	From    string             `json:"from"`
	To      string             `json:"to"`
	Result  certificate.Result `json:"result"`
	Planted string             `json:"planted,omitempty"`
}

// Change is one difference.
type Change struct {
	What     string `json:"what"` // "profile Core", "chaos/drain-one-worker after the upgrade", ...
	Was      string `json:"was"`
	Is       string `json:"is"`
	Why      string `json:"why,omitempty"`
	Scenario string `json:"scenario,omitempty"`
}

// gone stands for a result that B lacks, and absent for one that A lacks.
const (
	gone   = "gone"
	absent = "not there"
)

// Compare says what differs in b from a.
func Compare(a, b *certificate.Certificate) Diff {
	d := Diff{
		APIVersion: certificate.APIVersion, Kind: DiffKind, A: comparedOf(a), B: comparedOf(b),
		Regressions: []Change{}, Missing: []Change{}, Better: []Change{}, Different: []Change{}, Scenarios: []string{},
	}
	if a.Planted != b.Planted {
		d.different("planted regression", cmp.Or(a.Planted, "none"), cmp.Or(b.Planted, "none"), "")
	}
	d.upgrades(a, b)
	for i := range a.Scenarios {
		d.scenario(&a.Scenarios[i], scenarioOf(b, a.Scenarios[i].Name))
	}
	for i := range b.Scenarios {
		if s := &b.Scenarios[i]; scenarioOf(a, s.Name) == nil {
			d.different(s.Name, absent, string(s.Verdict), s.Name)
		}
	}
	for _, c := range d.Regressions {
		d.Scenarios = appendNew(d.Scenarios, c.Scenario)
	}
	details := d.Regressions // profiles and features come first
	d.Regressions = []Change{}
	d.profiles(a, b, d.Scenarios)
	d.Regressions = append(d.Regressions, details...)
	d.applications(a.Application, b.Application)
	for _, is := range b.Deprecations {
		if !slices.ContainsFunc(a.Deprecations, func(was certificate.Deprecation) bool { return was.Object == is.Object && was.API == is.API }) {
			d.different("deprecated API of "+is.Object, absent, is.API, "")
		}
	}
	return d
}

func comparedOf(c *certificate.Certificate) Compared {
	return Compared{ID: c.ID, From: c.From.Kubernetes, To: c.To.Kubernetes, Result: c.Result, Planted: c.Planted}
}

func (d *Diff) different(what, was, is, scenario string) {
	d.Different = append(d.Different, Change{What: what, Was: was, Is: is, Scenario: scenario})
}

// verdicts adds a change between two verdicts.
func (d *Diff) verdicts(what string, was, is reports.Result, why, scenario string) {
	c := Change{What: what, Was: string(was), Is: string(is), Why: why, Scenario: scenario}
	switch {
	case was == is:
	case is == reports.Held:
		c.Why = ""
		d.Better = append(d.Better, c)
	case was == reports.Held && (is == reports.Unknown || is == reports.Interrupted || is == reports.NotBegun):
		d.Missing = append(d.Missing, c)
	case was == reports.Held, is == reports.Violated:
		d.Regressions = append(d.Regressions, c)
	default:
		d.Different = append(d.Different, c)
	}
}

// upgrades compares the upgrades. An upgrade that stopped is Violated, whatever the verdicts on its promises.
func (d *Diff) upgrades(a, b *certificate.Certificate) {
	name := cmp.Or(a.Upgrade.Scenario, UpgradeScenario)
	verdict := func(c *certificate.Certificate) reports.Result {
		if c.Failure != nil {
			return reports.Violated
		}
		return c.Upgrade.Verdict
	}
	why := b.Upgrade.Why
	if f := b.Failure; f != nil {
		why = failureInWords(f)
	}
	d.verdicts("the upgrade", verdict(a), verdict(b), why, name)
	d.promises(name, &a.Upgrade.Side, &b.Upgrade.Side, name)
}

// scenario compares a scenario; b is nil if the second certificate lacks it.
func (d *Diff) scenario(a, b *certificate.Scenario) {
	if b == nil {
		if a.Before.Verdict == reports.Held || a.After.Verdict == reports.Held {
			d.Regressions = append(d.Regressions, Change{What: a.Name, Was: string(a.Verdict), Is: gone, Scenario: a.Name})
		} else {
			d.different(a.Name, string(a.Verdict), gone, a.Name)
		}
		return
	}
	for _, side := range []struct {
		when    string
		was, is *certificate.Side
	}{{"before", &a.Before, &b.Before}, {"after", &a.After, &b.After}} {
		what := a.Name + " " + side.when + " the upgrade"
		d.verdicts(what, side.was.Verdict, side.is.Verdict, cmp.Or(strings.Join(brokenPromises(side.is), "; "), side.is.Why), a.Name)
		d.promises(what, side.was, side.is, a.Name)
		for _, n := range difference(side.was, side.is) {
			if numbers[n.What] {
				d.different(what+", "+n.What, n.Before, n.After, a.Name)
			}
		}
	}
}

// numbers are the differences that are not between verdicts.
var numbers = map[string]bool{"recovery": true, "p99": true, "skew": true, "cause": true}

// promises compares the promises of a side. If b has none, nothing was judged, which its verdict shows.
func (d *Diff) promises(what string, a, b *certificate.Side, scenario string) {
	if len(b.Promises) == 0 {
		return
	}
	for i := range a.Promises {
		was := &a.Promises[i]
		is := samePromise(b, was, a)
		name := fmt.Sprintf("%s, promise %s", what, was.Kind)
		switch {
		case is != nil:
			d.verdicts(name, was.Verdict, is.Verdict, is.Seen+certificate.CauseInWords(is.Cause), scenario)
		case was.Verdict == reports.Held:
			d.Regressions = append(d.Regressions, Change{What: name, Was: string(was.Verdict), Is: gone, Scenario: scenario})
		}
	}
}

// samePromise finds a promise on another side. If each side has one promise of the kind, the limits may differ.
func samePromise(s *certificate.Side, p *certificate.Promise, its *certificate.Side) *certificate.Promise {
	if found := findPromise(s, p); found != nil {
		return found
	}
	of := func(side *certificate.Side) (list []*certificate.Promise) {
		for i := range side.Promises {
			if side.Promises[i].Kind == p.Kind {
				list = append(list, &side.Promises[i])
			}
		}
		return list
	}
	if found := of(s); len(found) == 1 && len(of(its)) == 1 {
		return found[0]
	}
	return nil
}

// profiles compares the results of profiles and features. Lost are the names of the scenarios that regressed. A result that was lost only
// because evidence is missing is no regression.
func (d *Diff) profiles(a, b *certificate.Certificate, lost []string) {
	broke := slices.Contains(lost, cmp.Or(a.Upgrade.Scenario, UpgradeScenario))
	for i := range a.Profiles {
		was := &a.Profiles[i]
		name := "profile " + was.Name
		j := slices.IndexFunc(b.Profiles, func(p certificate.Profile) bool { return p.Name == was.Name })
		if j < 0 {
			d.result(name, was.Result, gone, true)
			continue
		}
		at, worse := len(d.Regressions), broke
		for k := range was.Features {
			worse = d.feature(was.Name, &was.Features[k], &b.Profiles[j], lost) || worse
		}
		if d.result(name, was.Result, b.Profiles[j].Result, worse) && worse {
			last := len(d.Regressions) - 1 // a profile comes before its features
			d.Regressions = slices.Insert(d.Regressions[:last], at, d.Regressions[last])
		}
	}
}

// applications compares the users' applications. One of another name is another application.
func (d *Diff) applications(a, b *certificate.Application) {
	switch {
	case a == nil && b == nil:
	case a == nil:
		d.different("application "+b.Name, absent, string(b.Result), ApplicationScenario)
	case b == nil || a.Name != b.Name:
		d.result("application "+a.Name, a.Result, gone, true)
	default:
		name := "application " + a.Name
		d.verdicts("the upgrade with "+name, a.Upgrade.Verdict, b.Upgrade.Verdict, strings.Join(b.Reasons, "; "), ApplicationScenario)
		d.result(name, a.Result, b.Result, b.Result == certificate.NotCertified)
		if a.Digest != b.Digest {
			d.different("digest of "+name, a.Digest, b.Digest, "")
		}
	}
}

// feature compares a feature with that of another profile, and says whether it regressed.
func (d *Diff) feature(profile string, was *certificate.Feature, is *certificate.Profile, lost []string) bool {
	name := "feature " + was.Name + " of " + profile
	i := slices.IndexFunc(is.Features, func(f certificate.Feature) bool { return f.Name == was.Name })
	if i < 0 {
		d.result(name, was.Result, gone, true)
		return true
	}
	worse := slices.ContainsFunc(was.Scenarios, func(s string) bool { return slices.Contains(lost, s) })
	return d.result(name, was.Result, is.Features[i].Result, worse) && worse
}

// result adds a change between two results, and says whether certified became something else.
func (d *Diff) result(what string, was, is certificate.Result, worse bool) bool {
	c := Change{What: what, Was: string(was), Is: string(is)}
	switch {
	case was == is:
	case is == certificate.Certified:
		d.Better = append(d.Better, c)
	case was != certificate.Certified && is != gone:
		d.Different = append(d.Different, c)
	case worse:
		d.Regressions = append(d.Regressions, c)
		return true
	default:
		d.Missing = append(d.Missing, c)
		return true
	}
	return false
}
