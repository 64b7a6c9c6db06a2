package catalogue

import (
	"slices"

	"github.com/holdfast-ha/holdfast/clusters/existing"
)

// Chaos are the API groups of other chaos tools. Objects of these groups mean that another client may disturb the cluster (rule 13). Those of
// Testkube are left out: they are definitions of tests, and not their runs.
func Chaos() []string {
	return []string{"chaos-mesh.org", "litmuschaos.io", "chaos.datadoghq.com", "krkn.krkn-chaos.dev", "chaosblade.io", "chaostoolkit.org"}
}

// Reading are the rights to see what the rules ask about. Nothing is written with them.
func Reading(faults []Fault) (all []Right) {
	all = append(all, Right{Where: Everywhere, Verb: "get", Resource: "namespaces", Why: "the UID of kube-system, and the labels of owners"})
	all = append(all, rights(Everywhere, "", "nodes", "get list watch")...)
	all = append(all, rights(Everywhere, "", "pods", "get list watch")...) // what is requested on each node
	all = append(all, rights(App, "", "services events", "get list watch")...)
	all = append(all, rights(Everywhere, "", "persistentvolumes", "get")...) // which nodes a volume is tied to
	all = append(all, rights(App, "discovery.k8s.io", "endpointslices", "get list watch")...)
	all = append(all, rights(App, "networking.k8s.io", "ingresses", "list")...) // which Services the requests from outside reach
	all = append(all, rights(App, "gateway.networking.k8s.io", "httproutes", "list")...)
	all = append(all, rights(App, "autoscaling", "horizontalpodautoscalers", "get list")...)
	all = append(all, rights(App, "keda.sh", "scaledobjects", "get list")...)
	all = append(all, Right{Where: System, Verb: "get", Resource: "configmaps", Name: existing.AutoscalerStatus})
	for _, group := range Chaos() {
		all = append(all, Right{Where: Everywhere, Verb: "list", Group: group, Resource: "*"})
	}
	for _, where := range owners(faults) {
		all = append(all, rights(where, Apps, "deployments statefulsets replicasets", "get list watch")...)
		all = append(all, rights(where, Policy, "poddisruptionbudgets", "get list watch")...)
		all = append(all, rights(where, "", "persistentvolumeclaims", "get")...)
	}
	return all
}

// owners is where the controllers of pods that may end are.
func owners(faults []Fault) []Where {
	if slices.ContainsFunc(faults, func(f Fault) bool { return f.OnNode && f.EndsPods }) {
		return []Where{App, Beside}
	}
	return []Where{App}
}

// Trying are the rights to ask, without creating anything, whether the cluster would take a victim's replacement (rule 8), and to announce
// what is done (rule 20).
func Trying(faults []Fault) (all []Right) {
	for _, where := range owners(faults) {
		if slices.ContainsFunc(faults, func(f Fault) bool { return f.EndsPods }) {
			all = append(all, Right{
				Where: where, Verb: "create", Resource: "pods",
				Why: "only with dryRun=All, to ask whether a replacement is admitted; who may create pods can mount the Secrets of the namespace",
			})
		}
		all = append(all, Right{Where: where, Verb: "create", Resource: "events", Why: "to announce what is done"})
	}
	if slices.ContainsFunc(faults, func(f Fault) bool { return f.OnNode }) {
		all = append(all, Right{Where: Default, Verb: "create", Resource: "events", Why: "to announce what is done to nodes"})
	}
	return all
}
