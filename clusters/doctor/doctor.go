// Package doctor says whether a cluster can be made on this machine, and if not, what to do about it: one check for
// each thing that was seen to stop a cluster, each with its remedy.
//
// It makes no cluster, and it changes only what Prepare documents.
package doctor

import (
	"context"

	"github.com/holdfast-ha/holdfast/clusters/engine"
)

// DefaultNodes is the size of cluster that is checked for when none is given: a control plane, a node for the load, and
// one worker in each of three zones.
const DefaultNodes = 5

// Options of Examine. The zero value is a good one.
type Options struct {
	// Nodes is how many nodes the cluster shall have; default DefaultNodes.
	Nodes int
	// CacheDir is holdfast's cache folder; default engine.CacheDir().
	CacheDir string
	// Install lets a missing engine be installed, as root on Debian or Ubuntu. Otherwise the commands are told.
	Install bool
	// Say tells a person, before it happens, what takes long or changes the machine. Default: say nothing.
	Say func(format string, args ...any)
}

// Status of a check.
type Status string

// The statuses. Warn: a cluster can be made, but something is missing that a scenario may want, or that is running out.
const (
	OK   Status = "ok"
	Warn Status = "warn"
	Fail Status = "fail"
)

// Check is one thing that was looked at.
type Check struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	// Found is what there is, in words and numbers.
	Found string `json:"found"`
	// Remedy is what to do about it, a command where there is one; empty where there is nothing to do.
	Remedy string `json:"remedy,omitempty"`
}

// Report is what was found.
type Report struct {
	// OK says that a cluster of Nodes nodes can be made: no check failed.
	OK     bool    `json:"ok"`
	Nodes  int     `json:"nodes"`
	Checks []Check `json:"checks"`
}

// Examine looks at everything once; it takes about a second. As root it first does what Prepare does. It installs
// nothing unless asked to.
func Examine(ctx context.Context, o Options) Report {
	return thisMachine().examine(ctx, o)
}

func (m *machine) examine(ctx context.Context, o Options) Report {
	if o.Nodes <= 0 {
		o.Nodes = DefaultNodes
	}
	_ = m.prepare() // what could not be prepared is seen by the check that needs it
	found, engineCheck := m.engine(ctx, o)
	report := Report{OK: true, Nodes: o.Nodes, Checks: []Check{
		engineCheck,
		m.cgroups(),
		m.capabilities(found),
		m.limits(o.Nodes),
		m.inotify(o.Nodes),
		m.modules(found),
		m.overlay(),
		m.bridge(ctx),
		m.nftables(ctx),
		m.netem(ctx),
		m.memory(o.Nodes),
		m.disk(found, o),
		balancer(ctx, found),
		leftovers(ctx, found),
	}}
	for _, check := range report.Checks {
		report.OK = report.OK && check.Status != Fail
	}
	return report
}

// containerEngine is the part of engine.Engine that is looked at.
type containerEngine interface {
	Name() string
	Version() string
	Runtime() string
	StorageDriver() string
	StorageDir() string
	Refusals() []engine.Refusal
	Output(ctx context.Context, args ...string) ([]byte, error)
}
