package journal

import (
	"cmp"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Permission is one thing that the API server must allow a user.
type Permission struct {
	Verb string
	// Object is what it is done to. Without a name it is any object of the resource.
	Object Object
}

// Needs are the permissions that a change needs, and those that its undo needs. Who may not undo a change should not make it.
func (c Change) Needs() (do, undo []Permission) {
	may := func(o Object, verbs ...string) (all []Permission) {
		for _, v := range verbs {
			all = append(all, Permission{v, o})
		}
		return all
	}
	o := c.Object
	switch c.Action {
	case Set:
		do = may(o, "get", "patch")
		for _, print := range touched(o, Set) {
			verb := "get"
			if print.Name == "" {
				verb = "list"
			}
			do = append(do, Permission{verb, print})
		}
		if c.NoUndo == "" {
			undo = may(o, "get", "patch")
		}
	case Create:
		any := o
		any.Name = "" // RBAC cannot restrict a creation to a name
		do = may(any, "create")
		if c.NoUndo == "" {
			undo = may(o, "get", "delete")
		}
	case Evict:
		eviction := o
		eviction.Subresource = "eviction"
		do = append(may(o, "get"), may(eviction, "create")...)
	case Delete:
		do = may(o, "get", "delete")
	}
	return do, undo
}

// OwnNeeds are the permissions that a journal needs for itself, beside those of its changes: for its ConfigMap, and to identify the cluster. The
// nodes are for the fingerprint, which says what is missing if they may not be listed.
func OwnNeeds(namespace string) []Permission {
	var all []Permission
	for _, verb := range []string{"get", "list", "create", "patch", "delete"} {
		all = append(all, Permission{verb, Object{Version: "v1", Resource: "configmaps", Namespace: namespace}})
	}
	return append(all, Permission{"get", Object{Version: "v1", Resource: "namespaces", Name: "kube-system"}},
		Permission{"list", allNodes})
}

// Rules are the smallest rules of RBAC that grant permissions, by the namespaces of their Roles. The namespace "" is for a ClusterRole.
func Rules(all []Permission) map[string][]rbacv1.PolicyRule {
	type target struct{ namespace, group, resource, name string }
	verbs := map[target][]string{}
	var order []target
	for _, p := range all {
		resource := p.Object.Resource
		if p.Object.Subresource != "" {
			resource += "/" + p.Object.Subresource
		}
		t := target{p.Object.Namespace, p.Object.Group, resource, p.Object.Name}
		if verbs[t] == nil {
			order = append(order, t)
		}
		if !slices.Contains(verbs[t], p.Verb) {
			verbs[t] = append(verbs[t], p.Verb)
		}
	}
	slices.SortFunc(order, func(a, b target) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.group, b.group), cmp.Compare(a.resource, b.resource), cmp.Compare(a.name, b.name))
	})
	rules := map[string][]rbacv1.PolicyRule{}
	for _, t := range order {
		slices.Sort(verbs[t])
		rule := rbacv1.PolicyRule{APIGroups: []string{t.group}, Resources: []string{t.resource}, Verbs: verbs[t]}
		if t.name != "" {
			rule.ResourceNames = []string{t.name}
		}
		have := rules[t.namespace]
		if n := len(have); n > 0 && t.name != "" && same(have[n-1], rule) { // one rule for several objects
			have[n-1].ResourceNames = append(have[n-1].ResourceNames, t.name)
			continue
		}
		rules[t.namespace] = append(have, rule)
	}
	return rules
}

// same reports whether two rules differ in the names of objects alone.
func same(a, b rbacv1.PolicyRule) bool {
	return slices.Equal(a.APIGroups, b.APIGroups) && slices.Equal(a.Resources, b.Resources) && slices.Equal(a.Verbs, b.Verbs) && len(a.ResourceNames) > 0
}
