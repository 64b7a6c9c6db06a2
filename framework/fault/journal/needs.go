package journal

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
		for _, read := range touched(o, Set) { // for the fingerprint
			verb := "get"
			if read.Name == "" {
				verb = "list"
			}
			do = append(do, Permission{verb, read})
		}
		if c.NoUndo == "" {
			undo = may(o, "get", "patch")
		}
	case Evict:
		eviction := o
		eviction.Subresource = "eviction"
		do = append(may(o, "get"), may(eviction, "create")...)
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
