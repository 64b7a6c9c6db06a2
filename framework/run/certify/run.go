package certify

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/run"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/reports/certificate"
	"github.com/holdfast-ha/holdfast/reports/formats"
)

// The runs of a certification, and their folders.
const (
	applicationRun = "application"
	beforeRun      = "before"
	upgradeRun     = "upgrade"
	afterRun       = "after"
)

// Certification is an upgrade that is to be certified.
type Certification struct {
	Plan     Plan
	From, To certificate.Release
	// Settings are those of the whole. Each run gets a folder below theirs.
	Settings  run.Settings
	Planted   string // the name of the plant
	Engine    string // that the clusters run on
	Reproduce string // the command that certifies this again
	// KeepBroken leaves a cluster whose upgrade failed as it was then.
	KeepBroken bool
	// Ended reports the end of a run.
	Ended func(part string, f runfolder.File) error

	cluster  clusters.Cluster
	upgraded bool // the upgrade has begun, so no other cluster can show the result
	broken   bool // a promise was seen broken in one of the runs
	errs     []error
}

// Run upgrades a cluster with the application, if there is one. Then it runs the scenarios before the upgrade, the upgrade, and the scenarios
// after it, and writes the certificate into the folder of the settings. However the runs end, there is a certificate about what was recorded, unless it cannot be written. Broken is set if a promise
// was seen broken, also if the certificate is nil or lacks that.
func (c *Certification) Run(ctx context.Context) (doc *certificate.Certificate, broken bool, err error) {
	runs := []run.Batch{
		{Name: beforeRun, Settings: c.settings(beforeRun, c.From), Chosen: c.Plan.Scenarios},
		{Name: upgradeRun, Settings: c.settings(upgradeRun, c.From), Chosen: []scenario.Spec{c.Plan.Upgrade}},
		{Name: afterRun, Settings: c.settings(afterRun, c.To), Chosen: c.Plan.Scenarios},
	}
	if app := c.Plan.Application; app != nil {
		first := run.Batch{Name: applicationRun, Settings: c.settings(applicationRun, c.From), Chosen: []scenario.Spec{app.Upgrade}}
		runs = append([]run.Batch{first}, runs...)
	}
	_, runErr := run.Batches(ctx, runs, func(i int, f runfolder.File) bool { return c.next(ctx, runs[i].Name, f) })
	doc, err = c.issue()
	return doc, c.broken || doc != nil && Broken(doc), errors.Join(err, runErr, errors.Join(c.errs...))
}

// settings are those of one of the runs.
func (c *Certification) settings(part string, release certificate.Release) run.Settings {
	s := c.Settings
	s.RunID, s.Dir, s.Kubernetes = s.RunID+"/"+part, filepath.Join(s.Dir, part), release.Kubernetes
	s.LeaveBroken = c.KeepBroken && (part == upgradeRun || part == applicationRun)
	open := s.Open
	s.Open = func(ctx context.Context, name string, spec clusters.Spec) (clusters.Cluster, error) {
		if c.upgraded {
			return nil, errors.New("the upgraded cluster is lost, and a new cluster would show nothing about the upgrade")
		}
		var err error
		c.cluster, err = open(ctx, name, spec)
		return c.cluster, err
	}
	return s
}

// next says after a run whether the next run is worth its time.
func (c *Certification) next(ctx context.Context, part string, f runfolder.File) bool {
	c.errs = append(c.errs, formats.WriteAll(filepath.Join(c.Settings.Dir, part)), c.Ended(part, f))
	c.broken = c.broken || judge.WorthOf(f) == judge.RunViolated
	switch part {
	case applicationRun:
		return ctx.Err() == nil && ready(f)
	case upgradeRun:
		c.upgraded = true
		return c.cluster != nil && c.cluster.Spec().Kubernetes == c.To.Kubernetes
	}
	return ctx.Err() == nil
}

// issue writes the certificate of what was recorded. The certificate is nil if there is none.
func (c *Certification) issue() (*certificate.Certificate, error) {
	folder := func(part string) string { return filepath.Join(c.Settings.Dir, part) }
	in := Input{
		Dir: c.Settings.Dir, Before: folder(beforeRun), Upgrade: folder(upgradeRun), After: folder(afterRun),
		ID: c.Settings.RunID, Issued: time.Now(), Holdfast: c.Settings.Version, From: c.From, To: c.To,
		Machine: machineOf(c.Settings.Machine, c.Engine), Seed: c.Settings.Seed, Reproduce: c.Reproduce, Planted: c.Planted, Profiles: c.Plan.Profiles,
		Deprecations: deprecations(folder(beforeRun), folder(afterRun)),
	}
	if app := c.Plan.Application; app != nil {
		in.Application, in.ApplicationRun = &app.Application, folder(applicationRun)
	}
	doc, err := Assemble(in)
	if err != nil {
		return nil, err
	}
	doc.Skipped = append(doc.Skipped, notPlanned(c.Plan.Profiles)...)
	return doc, certificate.Write(c.Settings.Dir, doc)
}

// machineOf is a machine, with the engine of the nodes; empty: the nodes are not on it.
func machineOf(m *runfolder.Machine, engine string) certificate.Machine {
	if m == nil {
		return certificate.Machine{Engine: engine}
	}
	return certificate.Machine{Cores: m.Cores, Arch: m.Arch, Kernel: m.Kernel, Engine: engine}
}
