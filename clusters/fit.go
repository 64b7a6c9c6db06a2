package clusters

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Unlike lists the differences between a cluster and a required spec, in words: has is what the cluster has, needs is what is
// required instead. Both are empty if the cluster fits. A need without a Kubernetes version accepts any version.
func (s Spec) Unlike(need Spec) (has, needs string) {
	s, need = s.WithDefaults(), need.WithDefaults()
	need.Kubernetes = cmp.Or(need.Kubernetes, s.Kubernetes)
	var here, there []string
	for _, say := range []func(Spec) string{
		func(s Spec) string { return "Kubernetes " + s.Kubernetes },
		func(s Spec) string { return counted(s.ControlPlanes, "control plane") },
		func(s Spec) string {
			return fmt.Sprintf("zones %s with %s each", strings.Join(s.Zones, ","), counted(s.WorkersPerZone, "worker"))
		},
		func(s Spec) string { return string(s.Profile) + " timings" },
		func(s Spec) string { return "kube-proxy in " + string(s.ProxyMode) + " mode" },
		func(s Spec) string { return either(s.LeaderElection, "leader election of a lone control plane") },
		func(s Spec) string { return "load on " + counted(s.LoadOnWorkers, "worker") },
		func(s Spec) string { return either(s.Egress, "default route on the nodes") },
		func(s Spec) string { return either(s.Plain, "plain cluster") },
		func(s Spec) string { return counted(s.SimulatedNodes, "simulated node") },
		Spec.labels,
	} {
		if a, b := say(s), say(need); a != b {
			here, there = append(here, a), append(there, b)
		}
	}
	return strings.Join(here, ", "), strings.Join(there, ", ")
}

func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

func either(has bool, what string) string {
	if has {
		return "a " + what
	}
	return "no " + what
}

// labels describes the labels of the workers in words.
func (s Spec) labels() string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(s.PerWorker)) {
		all = append(all, key+"="+strings.Join(s.PerWorker[key], ","))
	}
	if len(all) == 0 {
		return "no extra labels on workers"
	}
	return "workers labelled " + strings.Join(all, " and ")
}
