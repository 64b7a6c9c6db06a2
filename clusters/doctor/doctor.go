// Package doctor checks whether a cluster can be created on this machine, and if not, what to do about it. There is one check
// for each problem that has prevented a cluster, with a remedy.
//
// It creates no cluster, and changes only what Prepare documents.
package doctor

import (
	"context"
	"slices"

	"github.com/holdfast-ha/holdfast/clusters/engine"
)

// DefaultNodes is the number of nodes to check for by default: a control plane, a load node, and one worker in each of three
// zones.
const DefaultNodes = 5

// Options of Examine. The zero value is valid.
type Options struct {
	// Nodes is the number of nodes of the planned cluster; default DefaultNodes.
	Nodes int
	// Kubernetes is the version of the planned cluster, such as "v1.37.0"; default: what nodeimage.Ensure takes an empty one to mean.
	Kubernetes string
	// CacheDir is holdfast's cache folder; default engine.CacheDir().
	CacheDir string
	// Install allows installing a missing engine, as root on Debian or Ubuntu. Otherwise the report contains the commands.
	Install bool
	// Say reports long or machine-changing steps before they start. Default: no reports.
	Say func(format string, args ...any)
}

// Status is the result of a check.
type Status string

// The statuses. Warn means that a cluster can be created, but something is scarce, or missing that a scenario may need.
const (
	OK   Status = "ok"
	Warn Status = "warn"
	Fail Status = "fail"
)

// Check is the result of one check.
type Check struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	// Found describes what was found, in words and numbers.
	Found string `json:"found"`
	// Remedy is what to do about it, if possible as a command. Empty if there is nothing to do.
	Remedy string `json:"remedy,omitempty"`
}

// Report is the result of Examine.
type Report struct {
	// OK means that a cluster of Nodes nodes can be created: no check failed.
	OK     bool    `json:"ok"`
	Nodes  int     `json:"nodes"`
	Checks []Check `json:"checks"`
}

// Examine runs all checks, which takes about a second. As root it first does the same as Prepare. It installs nothing unless Options.Install is
// set.
func Examine(ctx context.Context, o Options) Report {
	return thisMachine().examine(ctx, o)
}

func (m *machine) examine(ctx context.Context, o Options) Report {
	if o.Nodes <= 0 {
		o.Nodes = DefaultNodes
	}
	found, engineCheck := m.engine(ctx, o)
	report := Report{OK: true, Nodes: o.Nodes}
	for _, check := range slices.Concat(
		[]Check{engineCheck},
		m.where(ctx, found, o),
		[]Check{firstRun(ctx, found, o)},
	) {
		report.Add(check)
	}
	return report
}

// where checks the machine that nodes run on, if it is this one.
func (m *machine) where(ctx context.Context, e containerEngine, o Options) []Check {
	if m.system != "linux" || e != nil && e.Elsewhere() {
		return []Check{{
			Name: "machine", Status: Warn, Found: "not checked: containers run on another machine than this one", Remedy: "run 'holdfast doctor' there, if it is Linux",
		}}
	}
	_ = m.prepare() // the affected check reports what could not be prepared
	return slices.Concat(
		[]Check{m.cgroups(), m.capabilities(e), m.limits(o.Nodes), m.inotify(o.Nodes), m.modules(e), m.overlay()},
		m.features(ctx),
		[]Check{m.memory(o.Nodes), m.disk(e, o)},
	)
}

// Add adds the result of a check.
func (r *Report) Add(check Check) {
	r.Checks = append(r.Checks, check)
	r.OK = r.OK && check.Status != Fail
}

// containerEngine is the part of engine.Engine that this package uses.
type containerEngine interface {
	Name() string
	Elsewhere() bool
	Version() string
	Runtime() string
	StorageDriver() string
	StorageDir() string
	Refusals() []engine.Refusal
	Output(ctx context.Context, args ...string) ([]byte, error)
}
