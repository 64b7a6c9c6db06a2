package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/run"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// standing is the cluster that `holdfast up` makes without flags. Most scenarios run on it.
var standing = clusters.Spec{Zones: []string{"a", "b", "c"}, WorkersPerZone: 2}.WithDefaults()

// upFor is the command that makes the cluster that a scenario needs.
func upFor(name string, s scenario.Spec, need clusters.Spec) string {
	words, base := []string{"holdfast", "up", name}, standing
	if len(need.PerWorker) > 0 { // there is no flag for labels
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
	return strings.Join(words, " ")
}

// fits reports whether a scenario runs on a cluster.
func fits(c, need clusters.Spec) bool {
	has, _ := c.Unlike(need)
	return has == ""
}

// fitting divides scenarios into those that run on a cluster and others. need returns the cluster that a scenario needs.
func fitting(c clusters.Spec, all []scenario.Spec, need func(clusters.Spec) clusters.Spec) (fit, others []scenario.Spec) {
	for _, s := range all {
		if fits(c, need(s.Cluster)) {
			fit = append(fit, s)
		} else {
			others = append(others, s)
		}
	}
	return fit, others
}

// misfit is why a scenario does not run on a cluster, and the command that makes a cluster for it.
func misfit(name string, c clusters.Spec, s scenario.Spec, need clusters.Spec) error {
	has, needs := c.Unlike(need)
	return fmt.Errorf("cluster %s has %s; %s needs %s: make such a cluster with '%s'", name, has, s.Name, needs, upFor("NAME", s, need))
}

// onCluster returns the chosen scenarios that run on the cluster of --cluster. Named scenarios must all run on it. Scenarios of a scope
// that need another cluster are skipped, and counted.
func (f runFlags) onCluster(ctx context.Context, back backing, chosen []scenario.Spec, say func(string)) ([]scenario.Spec, error) {
	if f.cluster == "" {
		return chosen, nil
	}
	c, err := back.open(ctx, f.cluster)
	if err != nil {
		return nil, err
	}
	need := run.Settings{Kubernetes: f.kubernetes, Profile: clusters.ProfileName(f.timings), ProxyMode: clusters.ProxyMode(f.proxyMode)}.Needs
	fit, others := fitting(c.Spec(), chosen, need)
	if len(others) > 0 && (len(f.names) > 0 || f.incident != "" || len(fit) == 0) {
		var errs []error
		for _, s := range others[:min(len(others), 3)] {
			errs = append(errs, misfit(f.cluster, c.Spec(), s, need(s.Cluster)))
		}
		if more := len(others) - len(errs); more > 0 {
			errs = append(errs, fmt.Errorf("and %d more do not fit", more))
		}
		return nil, usage(errors.Join(errs...))
	}
	if len(others) > 0 {
		say(fmt.Sprintf("%d of %d scenarios fit cluster %s; the others need another cluster and are skipped", len(fit), len(chosen), f.cluster))
	}
	return fit, free(ctx, c)
}

// whatFits suggests a command for a new cluster.
func whatFits(name string, c clusters.Spec, all []scenario.Spec) string {
	fit, others := fitting(c, all, clusters.Spec.WithDefaults)
	if len(fit) == 0 {
		return fmt.Sprintf("  no scenario fits it; %d fit the cluster of '%s', and --for SCENARIO makes the cluster that a scenario needs\n", mostCommon(others), upFor(name, scenario.Spec{}, standing))
	}
	example := fit[0].Name
	if i := slices.IndexFunc(fit, func(s scenario.Spec) bool { return s.Name == "chaos/rolling-update" }); i >= 0 {
		example = fit[i].Name
	}
	return fmt.Sprintf("  holdfast run --cluster %s %s   # one of %d scenarios, of %d, that fit it\n", name, example, len(fit), len(all))
}

// mostCommon counts the scenarios that fit the standing cluster.
func mostCommon(all []scenario.Spec) int {
	fit, _ := fitting(standing, all, clusters.Spec.WithDefaults)
	return len(fit)
}

// nodesOf counts a cluster's nodes by purpose. The worker that carries the load is additional to the requested workers.
func nodesOf(c clusters.Cluster) string {
	spec := c.Spec().WithDefaults()
	return fmt.Sprintf("%d nodes: %d control plane, %d workers, and one more worker that carries the load",
		len(c.Nodes()), spec.ControlPlanes, len(spec.Zones)*spec.WorkersPerZone)
}

// withFlags is the cluster that a scenario needs, changed by the flags that were given.
func withFlags(s scenario.Spec, flags clusters.Spec, given func(flag string) bool) clusters.Spec {
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
	} {
		if given(flag) {
			set()
		}
	}
	return spec.WithDefaults()
}
