package scenario

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/clusters"
)

// Standing is the cluster that `holdfast up` makes without flags. Most scenarios run on it.
var Standing = clusters.Spec{Zones: []string{"a", "b", "c"}, WorkersPerZone: 2}.WithDefaults()

// UpCommand is the command that makes the cluster that a scenario needs.
func UpCommand(name string, s Spec, need clusters.Spec) string {
	words, base := []string{"holdfast", "up", name}, Standing
	if len(need.PerWorker) > 0 || need.LoadOnWorkers > 0 { // there are no flags for labels, and none for load on workers
		words, base = append(words, "--for", s.Name), s.Cluster.WithDefaults()
	}
	flag := func(differs bool, text string, a ...any) {
		if differs {
			words = append(words, fmt.Sprintf(text, a...))
		}
	}
	flag(need.Kubernetes != base.Kubernetes, "--kubernetes %s", need.Kubernetes)
	flag(!slices.Equal(need.Zones, base.Zones), "--zones %s", strings.Join(need.Zones, ","))
	flag(need.WorkersPerZone != base.WorkersPerZone, "--workers-per-zone %d", need.WorkersPerZone)
	flag(need.ControlPlanes != base.ControlPlanes, "--control-planes %d", need.ControlPlanes)
	flag(need.Profile != base.Profile, "--timings %s", need.Profile)
	flag(need.ProxyMode != base.ProxyMode, "--proxy-mode %s", need.ProxyMode)
	flag(need.LeaderElection != base.LeaderElection, "--leader-election=%t", need.LeaderElection)
	flag(need.Egress != base.Egress, "--egress=%t", need.Egress)
	flag(need.SimulatedNodes != base.SimulatedNodes, "--simulated-nodes %d", need.SimulatedNodes)
	return strings.Join(words, " ")
}

// fits reports whether a scenario runs on a cluster.
func fits(c, need clusters.Spec) bool {
	has, _ := c.Unlike(need)
	return has == ""
}

// fitting divides scenarios into those that run on a cluster and others. need returns the cluster that a scenario needs.
func fitting(c clusters.Spec, all []Spec, need func(clusters.Spec) clusters.Spec) (fit, others []Spec) {
	for _, s := range all {
		if fits(c, need(s.Cluster)) {
			fit = append(fit, s)
		} else {
			others = append(others, s)
		}
	}
	return fit, others
}

// MostNeeded is the cluster on which most of the scenarios run.
func MostNeeded(all []Spec, need func(clusters.Spec) clusters.Spec) (most clusters.Spec) {
	found := 0
	for _, s := range all {
		c := need(s.Cluster)
		if fit, _ := fitting(c, all, need); len(fit) > found {
			most, found = c, len(fit)
		}
	}
	return most
}

// asOn is what a scenario needs after the flags of 'holdfast run' that adapt it to a cluster, and these flags.
func asOn(c, need clusters.Spec) (adapted clusters.Spec, flags string) {
	need = need.WithDefaults()
	if need.Profile != c.Profile && need.Profile == clusters.Lab { // stock timings are what such a scenario is about
		need.Profile, flags = c.Profile, flags+" --timings "+string(c.Profile)
	}
	if need.ProxyMode != c.ProxyMode {
		need.ProxyMode, flags = c.ProxyMode, flags+" --proxy-mode "+string(c.ProxyMode)
	}
	if need.SimulatedNodes != c.SimulatedNodes && need.SimulatedNodes > 0 && c.SimulatedNodes > 0 {
		need.SimulatedNodes, flags = c.SimulatedNodes, flags+fmt.Sprintf(" --simulated-nodes %d", c.SimulatedNodes)
	}
	return need, flags
}

// misfit is why a scenario does not run on a cluster, and what makes it run: flags, or the command that makes a cluster for it.
func misfit(name string, c clusters.Spec, s Spec, need clusters.Spec) error {
	has, needs := c.Unlike(need)
	if adapted, flags := asOn(c, need); fits(c, adapted) {
		return fmt.Errorf("cluster %s has %s; %s needs %s, unless it is run with%s", name, has, s.Name, needs, flags)
	}
	return fmt.Errorf("cluster %s has %s; %s needs %s: make such a cluster with '%s'", name, has, s.Name, needs, UpCommand("NAME", s, need))
}

// ChooseFor returns the scenarios that run on a cluster, and a note on those that do not. need returns the cluster that a scenario needs. It is
// an error if no scenario runs on the cluster, or if one of the named scenarios does not. The error names the command that makes
// the cluster which a scenario needs.
func ChooseFor(name string, c clusters.Spec, chosen []Spec, need func(clusters.Spec) clusters.Spec, named bool) (fit []Spec, note string, err error) {
	fit, others := fitting(c, chosen, need)
	if len(others) == 0 {
		return fit, "", nil
	}
	if !named && len(fit) > 0 {
		note := fmt.Sprintf("%d of %d scenarios fit cluster %s; the others need another cluster and are skipped", len(fit), len(chosen), name)
		for _, s := range others {
			if adapted, flags := asOn(c, need(s.Cluster)); fits(c, adapted) {
				return fit, fmt.Sprintf("%s, such as %s, which runs there with%s", note, s.Name, flags), nil
			}
		}
		return fit, note, nil
	}
	var errs []error
	for _, s := range others[:min(len(others), 3)] {
		errs = append(errs, misfit(name, c, s, need(s.Cluster)))
	}
	if more := len(others) - len(errs); more > 0 {
		errs = append(errs, fmt.Errorf("and %d more do not fit", more))
	}
	return nil, "", errors.Join(errs...)
}

// Suggest suggests a command for a new cluster, with the flags that adapt a scenario to it.
func Suggest(name string, c clusters.Spec, all []Spec) string {
	fit, others := fitting(c, all, func(need clusters.Spec) clusters.Spec {
		adapted, _ := asOn(c, need)
		return adapted
	})
	if len(fit) == 0 {
		return fmt.Sprintf("  no scenario fits it; %d fit the cluster of '%s', and --for SCENARIO makes the cluster that a scenario needs\n", mostCommon(others), UpCommand(name, Spec{}, Standing))
	}
	one := fit[0]
	if i := slices.IndexFunc(fit, func(s Spec) bool { return s.Name == "chaos/rolling-update" }); i >= 0 {
		one = fit[i]
	}
	_, flags := asOn(c, one.Cluster)
	return fmt.Sprintf("  holdfast run --cluster %s %s%s   # one of %d scenarios, of %d, that fit it\n", name, one.Name, flags, len(fit), len(all))
}

// mostCommon counts the scenarios that fit the standing cluster.
func mostCommon(all []Spec) int {
	fit, _ := fitting(Standing, all, clusters.Spec.WithDefaults)
	return len(fit)
}

// WithFlags is the cluster that a scenario needs, changed by the flags that were given.
func WithFlags(s Spec, flags clusters.Spec, given func(flag string) bool) clusters.Spec {
	spec := s.Cluster
	spec.PerWorker = maps.Clone(spec.PerWorker)
	for flag, set := range map[string]func(){
		"kubernetes":       func() { spec.Kubernetes = flags.Kubernetes },
		"zones":            func() { spec.Zones = flags.Zones },
		"workers-per-zone": func() { spec.WorkersPerZone = flags.WorkersPerZone },
		"control-planes":   func() { spec.ControlPlanes = flags.ControlPlanes },
		"timings":          func() { spec.Profile = flags.Profile },
		"proxy-mode":       func() { spec.ProxyMode = flags.ProxyMode },
		"leader-election":  func() { spec.LeaderElection = flags.LeaderElection },
		"egress":           func() { spec.Egress = flags.Egress },
		"simulated-nodes":  func() { spec.SimulatedNodes = flags.SimulatedNodes },
	} {
		if given(flag) {
			set()
		}
	}
	return spec.WithDefaults()
}
