package run

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/interrupt"
	"github.com/holdfast-ha/holdfast/framework/fault/hold"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/framework/run/fit"
	"github.com/holdfast-ha/holdfast/framework/run/progress"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// Settings configure a run.
type Settings struct {
	// RunID names the run, Started is when it was begun, and Dir is the folder for its record.
	RunID   string
	Started time.Time
	Dir     string
	// Resumed is when the run was resumed. Zero: it was not. The names of clusters are made from it, because clusters of the
	// interrupted run may still exist.
	Resumed time.Time
	// Version is that of the harness, Seed that of all random choices. Reproduce returns the command that repeats a scenario, or
	// the whole run if scenario is empty.
	Version   string
	Seed      uint64
	Args      []string // of the command line
	Reproduce func(scenario, kubernetes string) string
	// Incident is the incident that the scenarios reproduce; nil: none.
	Incident *history.Incident
	// Kubernetes overrides the version of every scenario's cluster, Profile its timings, ProxyMode kube-proxy's mode; empty leaves them.
	Kubernetes string
	Profile    clusters.ProfileName
	ProxyMode  clusters.ProxyMode
	// LoadWorkers is how many load workers send the load of each scenario; 0 leaves it as the scenario has it.
	LoadWorkers int
	// Fit measures what the machine of the nodes carries, and adapts the scenarios to it.
	Fit fit.Options
	// SimulatedNodes and SimulatedPods are the sizes of scenarios with simulated nodes; 0 leaves them as the scenario has them.
	SimulatedNodes, SimulatedPods int
	// TimeBudget is how long the run may take: scenarios that would end later are not begun, unless they are First. 0: no limit.
	TimeBudget time.Duration
	// LeaderElection is clusters.Spec.LeaderElection for every cluster.
	LeaderElection bool
	// Open returns a cluster that it creates or finds.
	Open func(ctx context.Context, name string, spec clusters.Spec) (clusters.Cluster, error)
	// Close takes a cluster back that is no longer needed, or is broken.
	Close func(ctx context.Context, c clusters.Cluster) error
	// Describe returns what a cluster actually runs, for the record.
	Describe func(c clusters.Cluster) ClusterFacts
	// Machine is what the nodes of its clusters run on; nil: not known.
	Machine *runfolder.Machine
	// Executable is the static holdfast binary that goes into the cluster as an image; CacheDir keeps that image.
	Executable string
	CacheDir   string
	// Compile returns the path of an add-on's executable, which it compiles if necessary. Only scenarios with add-ons need it.
	Compile func(ctx context.Context, p workloads.Program) (path string, err error)
	// KeepLogs collects node and pod logs after every scenario, not only after one that did not hold.
	KeepLogs bool
	// Cluster is an existing cluster that all scenarios use and that stays. Empty: clusters are created, and removed again.
	Cluster string
	// Keep is set if Close keeps the clusters that were created.
	Keep bool
	// Hold takes a cluster for this run exclusively; nil: no other run can reach the clusters.
	Hold func(ctx context.Context, c clusters.Cluster) (*hold.Hold, error)
	// Interrupt is told what has to be undone before the process ends; nil: nothing interrupts the run.
	Interrupt *interrupt.Process
	// LeaveBroken leaves a scenario as it is when a fault fails, for inspection. Close must leave the cluster, too. An interruption
	// still reverts and removes everything.
	LeaveBroken bool
	// Cure runs a scenario again, with the same random choices, after its remedies were applied, if a promise was broken and there are
	// remedies.
	Cure bool
	// Further returns scenarios that run after a judged one, made of its outcome and of what the audit found in its workload; nil: none. They
	// are not among the chosen ones.
	Further  func(of scenario.Spec, outcome verdict.Outcome, found []history.Finding) ([]scenario.Spec, error)
	Progress *progress.Progress
	// Judged is called after the result of a judged scenario is in run.json; nil: no call.
	Judged func()
}

// ClusterFacts are what a provider knows about a cluster beyond its Spec.
type ClusterFacts struct {
	Provider, Engine, Image, Kubernetes string
	// Balancer is the load balancer of several control planes; empty if there is none, or if it is unknown.
	Balancer string
}

// Needs is the cluster of a scenario with the settings of the run applied.
func (s Settings) Needs(c clusters.Spec) clusters.Spec {
	if s.Kubernetes != "" {
		c.Kubernetes = s.Kubernetes
	}
	if s.Profile != "" {
		c.Profile = s.Profile
	}
	if s.ProxyMode != "" {
		c.ProxyMode = s.ProxyMode
	}
	if s.SimulatedNodes > 0 && c.SimulatedNodes > 0 {
		c.SimulatedNodes = s.SimulatedNodes
	}
	c.LeaderElection = c.LeaderElection || s.LeaderElection
	return c.WithDefaults()
}

// adapted is a scenario on the cluster and with the pods that the settings ask for.
func (s Settings) adapted(spec scenario.Spec) scenario.Spec {
	return spec.On(s.Needs(spec.Cluster), s.SimulatedPods)
}

func (s Settings) validate() error {
	if s.Dir == "" || s.RunID == "" || s.Open == nil || s.Close == nil || s.Describe == nil || s.Executable == "" ||
		s.Reproduce == nil || s.Progress == nil {
		return errors.New("start run: its settings are incomplete")
	}
	return nil
}

// clusterName is short, because nodes' names begin with it: the run's start in base 36, to the millisecond, so that
// concurrent runs have different names, and a number from the second cluster on.
func (s Settings) clusterName(made int) string {
	moment := s.Started
	if !s.Resumed.IsZero() {
		moment = s.Resumed
	}
	name := strconv.FormatInt(moment.UnixMilli(), 36)
	if made > 1 {
		name += "-" + strconv.Itoa(made)
	}
	return name
}
