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
	"github.com/holdfast-ha/holdfast/framework/run/progress"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// Settings configure a run.
type Settings struct {
	Options
	// RunID names the run, Started is when it was begun, and Dir is the folder for its record.
	RunID   string
	Started time.Time
	Dir     string
	// Resumed is when the run was resumed. Zero: it was not. The names of clusters are made from it, because clusters of the
	// interrupted run may still exist.
	Resumed time.Time
	// Version is that of the harness. Reproduce returns the command that repeats a scenario, or the whole run if scenario is empty.
	Version   string
	Args      []string // of the command line
	Reproduce func(scenario, kubernetes string) string
	// Incident is the incident that the scenarios reproduce; nil: none.
	Incident *history.Incident
	// Measure measures what the machine of the nodes carries; nil: it is not measured.
	Measure func(context.Context, clusters.Cluster) (runfolder.Fit, error)
	// Shared is the pool of this and other runs, which the caller gives back; nil: the run has its own.
	Shared *Pool
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
