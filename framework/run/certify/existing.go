package certify

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/reports/certificate"
	"github.com/holdfast-ha/holdfast/reports/formats"
)

// Existing is an upgrade of a cluster that holdfast did not make, by a command of its owner. The command is recorded. Before it and after it
// the cluster is disturbed as far as its owner allows.
type Existing struct {
	// Dir is the folder of the certificate; each run has a folder below it.
	Dir, ID, Holdfast string
	Seed              uint64
	Reproduce         string
	// Cluster says which cluster it is.
	Cluster certificate.Cluster
	// Probes are the requests that were sent.
	Probes []certificate.ApplicationProbe
	// Features are the disturbances that are tried before and after, by scenarios that have a name and a claim only.
	Features []scenario.Feature
	// Refused says why scenarios are not tried, by name. If all are, Disturb is not called.
	Refused map[string]string
	// Disturb runs the scenarios that are not refused, and stores their run in a folder.
	Disturb func(ctx context.Context, part, dir string) (runfolder.File, error)
	// Upgrade records the command, under the scenario's name UpgradeScenario.
	Upgrade func(ctx context.Context, dir string) (runfolder.File, error)
	// Ended reports the end of a run.
	Ended func(part string, f runfolder.File) error

	broken bool
}

// Profile is the name of what is certified of a cluster that holdfast did not make.
const Profile = "Running cluster"

// UpgradeFeature is the name of the feature that the upgrade itself shows.
const UpgradeFeature = "Upgrade"

// Run runs the scenarios before the upgrade, the upgrade, and the scenarios after it, and writes the certificate. A run that found something
// broken before the upgrade ends the certification: the command is not run.
func (c *Existing) Run(ctx context.Context) (doc *certificate.Certificate, broken bool, err error) {
	errs := []error{c.disturb(ctx, beforeRun)}
	if errs[0] == nil && !c.broken && ctx.Err() == nil {
		file, err := c.Upgrade(ctx, filepath.Join(c.Dir, upgradeRun))
		errs = append(errs, err, c.ended(upgradeRun, file))
		if file.ID != "" && ctx.Err() == nil {
			errs = append(errs, c.disturb(ctx, afterRun))
		}
	}
	doc, err = c.issue()
	return doc, c.broken || doc != nil && Broken(doc), errors.Join(append(errs, err)...)
}

// disturb runs what is allowed.
func (c *Existing) disturb(ctx context.Context, part string) error {
	if !c.allowed() {
		return nil
	}
	file, err := c.Disturb(ctx, part, filepath.Join(c.Dir, part))
	return errors.Join(err, c.ended(part, file))
}

// allowed reports whether a scenario is not refused.
func (c *Existing) allowed() bool {
	for _, f := range c.Features {
		for _, s := range f.Scenarios {
			if c.Refused[s.Name] == "" {
				return true
			}
		}
	}
	return false
}

// ended writes the reports of a run, and tells of its end. A run that was not begun has no ID.
func (c *Existing) ended(part string, file runfolder.File) error {
	if file.ID == "" {
		return nil
	}
	c.broken = c.broken || judge.WorthOf(file) == judge.RunViolated
	return errors.Join(formats.WriteAll(filepath.Join(c.Dir, part)), c.Ended(part, file))
}

// issue writes the certificate of what was recorded.
func (c *Existing) issue() (*certificate.Certificate, error) {
	upgrade := filepath.Join(c.Dir, upgradeRun)
	in := Input{
		Dir: c.Dir, Upgrade: upgrade, ID: c.ID, Issued: time.Now(), Holdfast: c.Holdfast, Machine: machineOf(runfolder.ThisMachine(), ""), Seed: c.Seed, Reproduce: c.Reproduce,
		Profiles: []scenario.Profile{{Name: Profile, Features: c.Features}}, Skipped: c.Refused, Existing: true,
	}
	if c.allowed() {
		in.Before, in.After = filepath.Join(c.Dir, beforeRun), filepath.Join(c.Dir, afterRun)
	}
	if recorded, err := history.Open(filepath.Join(upgrade, filepath.FromSlash(UpgradeScenario))); err == nil { // otherwise the certificate says what is missing
		v := VersionsOf(recorded)
		in.From.Kubernetes, in.To.Kubernetes = v.From, v.To
	}
	doc, err := Assemble(in)
	if err != nil {
		return nil, err
	}
	doc.Cluster = &c.Cluster
	doc.Cluster.Probes = c.Probes
	return doc, certificate.Write(c.Dir, doc)
}
