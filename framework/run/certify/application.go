package certify

import (
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/certificate"
)

// ApplicationScenario is the name of the scenario that upgrades a cluster with the user's own application on it.
const ApplicationScenario = "app/upgrade"

// Application is the user's own application, and its upgrade. It has a cluster of its own, which is upgraded first: what is wrong with the
// application shows before anything else takes its time.
type Application struct {
	certificate.Application               // without a result
	Upgrade                 scenario.Spec // named ApplicationScenario
}

// addApplication adds what the run of the application found. Without a whole record nothing of it is certified.
func addApplication(c *certificate.Certificate, in certificate.Application, f *storedRun) {
	a := in
	a.Images, a.Probes = slices.Clone(in.Images), slices.Clone(in.Probes)
	a.Upgrade = upgradeOf(f, ApplicationScenario)
	a.Result, a.Reasons = decideApplication(&a, f, c.To.Kubernetes)
	c.Application = &a
}

// decideApplication decides about the application by its upgrade alone, and says why it is not certified.
func decideApplication(a *certificate.Application, f *storedRun, to string) (certificate.Result, []string) {
	name, u := "application "+a.Name+": ", &a.Upgrade
	why := []string{}
	result := certificate.Certified
	if f.missing != "" {
		why, result = append(why, name+f.what+" proves nothing: "+f.missing), certificate.NoEvidence
	}
	switch u.Verdict {
	case reports.Held:
		if i := slices.IndexFunc(u.Steps, func(s certificate.Step) bool { return s.To != "" && s.To != to }); i >= 0 {
			why, result = append(why, name+"its record is of an upgrade to "+u.Steps[i].To+", not to "+to), certificate.NoEvidence
		}
	case reports.Violated:
		for _, broken := range brokenPromises(&u.Side) {
			why = append(why, name+broken+failingSteps(u))
		}
		result = certificate.NotCertified
	case reports.Interrupted, reports.NotBegun:
		why, result = append(why, name+u.Why), certificate.Interrupted
	default:
		why, result = append(why, name+"nothing is known about its upgrade: "+u.Why), certificate.NoEvidence
	}
	if step := firstUnfinished(u); step != nil && u.Verdict != reports.Interrupted {
		why, result = append(why, name+"the upgrade "+failureInWords(failureAt(step))), certificate.NotCertified
	}
	return result, why
}

// applicationBroken reports whether a promise to the application, or its upgrade, was seen broken.
func applicationBroken(c *certificate.Certificate) bool {
	return c.Application != nil && c.Application.Result == certificate.NotCertified
}

// ready reports whether the application could be tested: whatever else a run of it found, its cluster was upgraded.
func ready(f runfolder.File) bool {
	return !slices.ContainsFunc(f.Scenarios, func(s runfolder.ScenarioResult) bool { return s.Error != "" })
}
