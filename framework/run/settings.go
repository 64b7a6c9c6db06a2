package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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

// Options are what a user asks of a run: the flags of 'holdfast run'.
type Options struct {
	Cluster  string   // it is made if it does not exist, and stays; empty: new clusters
	Scope    string   // short or full
	Incident string   // its scenarios run; empty: no incident
	Names    []string // of scenarios, or patterns of names; none: all scenarios of the scope
	Labels   []string // only scenarios with all of these labels
	// Kubernetes is the version of every scenario's cluster, Profile its timings, ProxyMode kube-proxy's mode; empty leaves them as the scenario has them.
	Kubernetes string
	Profile    clusters.ProfileName
	ProxyMode  clusters.ProxyMode
	// LeaderElection is clusters.Spec.LeaderElection for every cluster.
	LeaderElection bool
	LoadWorkers    int     // of every scenario; 0: as the scenario has it
	LoadRate       float64 // share of the scenarios' own rates at which requests are sent; 0: as the machine carries it
	// SimulatedNodes and SimulatedPods are the sizes of scenarios with simulated nodes; 0: as the scenario has it.
	SimulatedNodes, SimulatedPods int
	// TimeBudget is how long the run may take: the scenarios that tell most come first, and others that would end later are not begun. 0: no limit.
	TimeBudget time.Duration
	Artifacts  string // the folder of all runs
	Seed       uint64 // of all random choices; 0: a new seed
	Keep       bool   // keep the new clusters
	KeepLogs   bool   // collect the logs of nodes and pods after every scenario, not only after one that did not hold
}

// Needs is the cluster of a scenario with these options.
func (o Options) Needs(c clusters.Spec) clusters.Spec {
	c.Kubernetes = cmp.Or(o.Kubernetes, c.Kubernetes)
	c.Profile = cmp.Or(o.Profile, c.Profile)
	c.ProxyMode = cmp.Or(o.ProxyMode, c.ProxyMode)
	if c.SimulatedNodes > 0 {
		c.SimulatedNodes = cmp.Or(o.SimulatedNodes, c.SimulatedNodes)
	}
	c.LeaderElection = c.LeaderElection || o.LeaderElection
	return c.WithDefaults()
}

// adapted is a scenario on the cluster and with the pods that the options ask for.
func (o Options) adapted(spec scenario.Spec) scenario.Spec {
	return spec.On(o.Needs(spec.Cluster), o.SimulatedPods)
}

// Scenarios returns the scenarios of the incident, the named scenarios, or the scenarios of the scope. told is the incident, if any.
func (o Options) Scenarios() (chosen []scenario.Spec, told *history.Incident, err error) {
	if o.Incident == "" {
		chosen, err = scenario.Choose(scenario.All, o.Scope, o.Names, o.Labels)
		if o.TimeBudget > 0 {
			chosen = scenario.MostTellingFirst(chosen)
		}
		return chosen, nil, errors.Join(err, o.checkSizes(chosen))
	}
	if len(o.Names)+len(o.Labels) > 0 {
		return nil, nil, errors.New("--incident with scenarios or labels: an incident has its own scenarios")
	}
	i, err := scenario.FindIncident(scenario.Incidents, o.Incident)
	return i.Scenarios, &i.Incident, err
}

// checkSizes refuses sizes that a chosen scenario with simulated nodes cannot have.
func (o Options) checkSizes(chosen []scenario.Spec) error {
	for _, s := range chosen {
		if s.Simulated == nil {
			continue
		}
		cluster := s.Cluster
		cluster.SimulatedNodes = cmp.Or(o.SimulatedNodes, cluster.SimulatedNodes)
		if err := s.On(cluster, o.SimulatedPods).Validate(); err != nil {
			return fmt.Errorf("--simulated-nodes and --simulated-pods: %w", err)
		}
	}
	return nil
}

// Validate checks the version, the timings, the proxy mode, and the numbers of load workers, and of simulated nodes and pods. Whether a scenario can have these sizes, Scenarios checks.
func (o Options) Validate() error {
	spec := clusters.Spec{Zones: []string{"a"}, Kubernetes: o.Kubernetes, Profile: o.Profile,
		ProxyMode: o.ProxyMode, SimulatedNodes: o.SimulatedNodes}
	if o.SimulatedPods < 0 {
		return fmt.Errorf("--simulated-pods %d: want a number from 1", o.SimulatedPods)
	}
	if o.LoadWorkers < 0 || o.LoadWorkers > history.MaxLoadWorkers {
		return fmt.Errorf("--load-workers %d: want a number from 1 to %d", o.LoadWorkers, history.MaxLoadWorkers)
	}
	switch {
	case o.LoadRate != 0 && (o.LoadRate < 0.1 || o.LoadRate > 1):
		return fmt.Errorf("--load-rate %g: want a share of the scenarios' rates from 0.1 to 1", o.LoadRate)
	case o.TimeBudget < 0 || o.TimeBudget > 0 && o.Incident != "":
		return fmt.Errorf("--time-budget %s: want a time such as 40m, and no --incident, all of whose scenarios belong together", o.TimeBudget)
	}
	return spec.Validate()
}

// On returns those of the chosen scenarios that run on a cluster, and a note on the others; see scenario.ChooseFor.
func (o Options) On(c clusters.Spec, chosen []scenario.Spec) (fit []scenario.Spec, note string, err error) {
	named := slices.ContainsFunc(o.Names, func(name string) bool { return !scenario.IsPattern(name) })
	return scenario.ChooseFor(o.Cluster, c, chosen, o.Needs, named || o.Incident != "")
}
