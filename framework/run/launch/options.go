// Package launch turns the options of a run into its settings: scenarios, provider, seed, folder, and the command that runs it again.
package launch

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/run"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/framework/scenario/selection"
)

// Options are what a user says about a run.
type Options struct {
	Cluster    string   // it is made if it does not exist, and stays; empty: new clusters
	Scope      string   // short or full
	Incident   string   // its scenarios run; empty: no incident
	Names      []string // of scenarios, or patterns of names; none: all scenarios of the scope
	Labels     []string // only scenarios with all of these labels
	Kubernetes string
	Timings    string // for every scenario; empty: the scenario's own
	ProxyMode  string
	Workers    int // load workers of every scenario; 0: as the scenario has it
	// LoadRate is the share of the scenarios' own rates at which requests are sent; 0: as the machine carries it.
	LoadRate float64
	// SimulatedNodes and SimulatedPods are the sizes of scenarios with simulated nodes; 0: as the scenario has it.
	SimulatedNodes, SimulatedPods int
	Artifacts                     string          // the folder of all runs
	Seed                          uint64          // 0: a new seed
	Keep                          bool            // keep the new clusters
	KeepLogs                      bool            // keep logs also if every promise held
	Begun                         *runfolder.File // the run to continue; nil: a new run
	// TimeBudget is how long the run may take; 0: as long as it takes. Scenarios that do not fit in are left out, and what tells most comes first.
	TimeBudget time.Duration
}

// Scenarios returns the scenarios of the incident, the named scenarios, or the scenarios of the scope. told is the incident, if any.
func (o Options) Scenarios() (chosen []scenario.Spec, told *history.Incident, err error) {
	if o.Incident == "" {
		chosen, err = selection.Scenarios(scenario.All, o.Scope, o.Names, o.Labels)
		if o.TimeBudget > 0 {
			chosen = selection.MostTellingFirst(chosen)
		}
		return chosen, nil, errors.Join(err, o.checkSizes(chosen))
	}
	if len(o.Names)+len(o.Labels) > 0 {
		return nil, nil, errors.New("--incident with scenarios or labels: an incident has its own scenarios")
	}
	i, err := selection.Incident(scenario.Incidents, o.Incident)
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
	spec := clusters.Spec{Zones: []string{"a"}, Kubernetes: o.Kubernetes, Profile: clusters.ProfileName(o.Timings),
		ProxyMode: clusters.ProxyMode(o.ProxyMode), SimulatedNodes: o.SimulatedNodes}
	if o.SimulatedPods < 0 {
		return fmt.Errorf("--simulated-pods %d: want a number from 1", o.SimulatedPods)
	}
	if o.Workers < 0 || o.Workers > history.MaxLoadWorkers {
		return fmt.Errorf("--load-workers %d: want a number from 1 to %d", o.Workers, history.MaxLoadWorkers)
	}
	switch {
	case o.LoadRate != 0 && (o.LoadRate < 0.1 || o.LoadRate > 1):
		return fmt.Errorf("--load-rate %g: want a share of the scenarios' rates from 0.1 to 1", o.LoadRate)
	case o.TimeBudget < 0 || o.TimeBudget > 0 && o.Incident != "":
		return fmt.Errorf("--time-budget %s: want a time such as 40m, and no --incident, all of whose scenarios belong together", o.TimeBudget)
	}
	return spec.Validate()
}

// On returns those of the chosen scenarios that run on a cluster, and a note on the others; see selection.On.
func (o Options) On(c clusters.Spec, chosen []scenario.Spec) (fit []scenario.Spec, note string, err error) {
	named := slices.ContainsFunc(o.Names, func(name string) bool { return !selection.IsPattern(name) })
	return selection.On(o.Cluster, c, chosen, o.needs, named || o.Incident != "")
}

// needs is the cluster of a scenario with these options.
func (o Options) needs(c clusters.Spec) clusters.Spec {
	return run.Settings{Kubernetes: o.Kubernetes, Profile: clusters.ProfileName(o.Timings), ProxyMode: clusters.ProxyMode(o.ProxyMode),
		SimulatedNodes: o.SimulatedNodes}.Needs(c)
}

// Reproduce is the command that runs one scenario again, or without a name all scenarios of the run.
func (o Options) Reproduce(name string, kubernetes string) string {
	words := []string{"holdfast", "run"}
	switch {
	case name != "":
		words = append(words, name)
	case o.Incident != "":
		words = append(words, "--incident", o.Incident)
	case len(o.Names) > 0:
		for _, name := range o.Names {
			if selection.IsPattern(name) {
				name = "'" + name + "'" // so that the shell does not expand it
			}
			words = append(words, name)
		}
	case o.Scope != "short":
		words = append(words, "--scope", o.Scope)
	}
	if name == "" {
		for _, label := range o.Labels {
			words = append(words, "--label", label)
		}
	}
	if o.Cluster != "" {
		words = append(words, "--cluster", o.Cluster)
	}
	words = append(words, "--seed", fmt.Sprint(o.Seed))
	if kubernetes != "" && o.Cluster == "" {
		words = append(words, "--kubernetes", kubernetes)
	}
	if o.Timings != "" {
		words = append(words, "--timings", o.Timings)
	}
	if o.ProxyMode != "" {
		words = append(words, "--proxy-mode", o.ProxyMode)
	}
	if o.Workers > 0 {
		words = append(words, "--load-workers", fmt.Sprint(o.Workers))
	}
	if o.LoadRate > 0 {
		words = append(words, "--load-rate", fmt.Sprint(o.LoadRate))
	}
	if o.SimulatedNodes > 0 {
		words = append(words, "--simulated-nodes", fmt.Sprint(o.SimulatedNodes))
	}
	if o.SimulatedPods > 0 {
		words = append(words, "--simulated-pods", fmt.Sprint(o.SimulatedPods))
	}
	return strings.Join(words, " ")
}
