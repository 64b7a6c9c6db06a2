package audit

import (
	"slices"

	policyv1 "k8s.io/api/policy/v1"
)

// Unsettled reports whether an earlier finding of this rule on this workload may still be true, although the report does not have it: the
// rule could not be applied, and the workload was not seen to be gone. The report must be of this cluster.
func (r Report) Unsettled(c *Cluster, rule, namespace, kind, name string) bool {
	covered := slices.ContainsFunc(r.NotChecked, func(n NotChecked) bool {
		return slices.Contains(n.Rules, rule) && n.covers(namespace, kind, name)
	})
	return covered && (c.workload(namespace, kind, name) || c.unlisted(namespace, kind))
}

// covers reports whether a workload was not checked for this reason. Of a budget, each kind of workloads may be what it covers.
func (n NotChecked) covers(namespace, kind, name string) bool {
	return (n.Namespace == "" || n.Namespace == namespace) && (n.Kind == "" || n.Kind == kind || kind == kindBudget) && (n.Name == "" || n.Name == name)
}

// workload reports whether a workload, or a budget, was read.
func (c *Cluster) workload(namespace, kind, name string) bool {
	return slices.ContainsFunc(c.Workloads, func(w Workload) bool {
		return w.Name == name && w.Namespace == namespace && w.Kind == kind
	}) || kind == kindBudget && slices.ContainsFunc(c.Budgets, func(b policyv1.PodDisruptionBudget) bool { return b.Name == name && b.Namespace == namespace })
}

// unlisted reports whether the workloads of a kind could not be read in a namespace.
func (c *Cluster) unlisted(namespace, kind string) bool {
	return kind == Deployment && c.unread(Deployments, namespace) || kind == StatefulSet && c.unread(StatefulSets, namespace) ||
		kind == kindBudget && c.unread(Budgets, namespace) || c.unread(Namespaces, namespace)
}
