package nights

import (
	"path"
	"path/filepath"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/certificate"
)

// Upgrade names the upgrade itself among the scenarios of a certificate, and Application begins the name of the user's own.
const (
	Upgrade     = "the upgrade"
	Application = "application "
)

// readCertificate reads the certificate in a folder below root. Its scenarios have the worse verdict of both sides, and the figures of the
// side after the upgrade.
func readCertificate(root, dir string) Night {
	n := Night{Dir: dir, ID: path.Base(dir), Certificate: true}
	n.Page, n.Anchors = pageOf(root, dir, certificate.HTMLFile, certificate.MarkdownFile, certificate.JSONFile, certificate.YAMLFile)
	c, err := certificate.Read(filepath.Join(root, filepath.FromSlash(dir)))
	if err != nil {
		n.At, n.Result, n.Word, n.Trouble = timeOf(n.ID), reports.Unknown, string(reports.Unknown), unread(root, err)
		return n
	}
	n.ID, n.At, n.seed = c.ID, c.Issued, c.Seed
	n.Result, n.Word = certificate.ResultOf(c.Result), c.Heading()
	line, versions := lineOfCertificate(c)
	add := func(name string, result reports.Result, side *certificate.Side) {
		s := scenarioOf(name, result, side)
		figures, absurd := measure(&s)
		n.Scenarios = append(n.Scenarios, Scenario{Name: name, Result: result, Line: line, Versions: versions, Figures: figures})
		n.Absurd = append(n.Absurd, absurd...)
	}
	result := c.Upgrade.Verdict
	if c.Failure != nil { // an upgrade that stopped, whatever was judged
		result = reports.Violated
	}
	add(Upgrade, result, &c.Upgrade.Side)
	for i := range c.Scenarios {
		s := &c.Scenarios[i]
		add(s.Name, s.Verdict, &s.After)
	}
	if a := c.Application; a != nil {
		add(Application+a.Name, certificate.ResultOf(a.Result), &a.Upgrade.Side)
	}
	cut := slices.ContainsFunc(n.Scenarios, func(s Scenario) bool { return s.Result == reports.Interrupted })
	if cut || c.Result == certificate.Interrupted {
		n.Trouble = "interrupted"
	}
	return n
}

// scenarioOf is a side of a certificate in the form in which figures are measured.
func scenarioOf(name string, result reports.Result, side *certificate.Side) reports.Scenario {
	s := reports.Scenario{Name: name, Result: result}
	for _, l := range side.Lanes {
		s.Lanes = append(s.Lanes, reports.Lane{
			Name: history.Lane(l.Name), OK: l.Requests - min(l.Requests, l.Failed), Failed: l.Failed,
			Latency: reports.Quantiles{P99: reports.Seconds(l.P99Seconds * 1e9)},
		})
	}
	if side.RecoverySeconds != nil {
		s.Verdicts = []reports.Verdict{{Numbers: map[string]float64{"recoveredSeconds": *side.RecoverySeconds}}}
	}
	return s
}
