package audit

import "slices"

// Access is a permission that Read uses. A Role that grants every Access of a Scope, and nothing else, is the smallest one.
type Access struct {
	Verb     string // get or list
	Group    string // the API group; empty: core
	Resource Resource
	// Everywhere: only a ClusterRole can grant it, because the resource has no namespace. Otherwise it is needed in the scope's
	// namespaces, or in all of them if the scope names none.
	Everywhere bool
}

// groups has the API groups of resources outside the core group.
var groups = map[Resource]string{
	Deployments: "apps", StatefulSets: "apps", ReplicaSets: "apps", Budgets: "policy", EndpointSlices: "discovery.k8s.io", Autoscalers: "autoscaling",
}

// always are the resources that are read whatever the rules: they say which pods of which workloads are where.
var always = []Resource{Deployments, StatefulSets, ReplicaSets, Pods, Nodes}

// Access returns the permissions that reading this scope uses.
func (s Scope) Access() (all []Access) {
	if len(s.Namespaces) > 0 {
		all = append(all, Access{Verb: "get", Resource: Namespaces}) // a Role of a namespace can grant it for that namespace
	}
	for _, r := range slices.Concat(always, []Resource{Budgets, Services, EndpointSlices, ConfigMaps, Quotas, Autoscalers}) {
		if s.needs(r) {
			all = append(all, Access{Verb: "list", Group: groups[r], Resource: r, Everywhere: r == Nodes})
		}
	}
	return all
}

// needs reports whether a resource has to be read for the rules that are not skipped.
func (s Scope) needs(what Resource) bool {
	return slices.Contains(always, what) || slices.ContainsFunc(Rules, func(r Rule) bool {
		return !slices.Contains(s.Skip, r.ID) && slices.Contains(r.needs, what)
	})
}
