package catalogue

import (
	"strings"

	"github.com/holdfast-ha/holdfast/clusters/existing"
)

// Where is where the objects are that a Right is about.
type Where string

// The places. A Right of any of them but Everywhere and Nodes is granted by a Role of one namespace.
const (
	// App is the namespace of the application.
	App Where = "app"
	// Beside are the namespaces of the other pods on a node that is drained: the file lists them as neighbours.
	Beside Where = "beside"
	// Home is holdfast's own namespace.
	Home Where = "home"
	// System is kube-system, in which one ConfigMap is read.
	System Where = "system"
	// Default is the namespace default, in which Kubernetes keeps the Events of Nodes.
	Default Where = "default"
	// Everywhere are all namespaces, and the objects of the cluster that are in none.
	Everywhere Where = "everywhere"
)

// Namespaces are those of a place, for an application with some neighbours; "" is everywhere.
func (w Where) Namespaces(app, home string, neighbours []string) []string {
	switch w {
	case App:
		return []string{app}
	case Beside:
		return neighbours
	case Home:
		return []string{home}
	case System:
		return []string{"kube-system"}
	case Default:
		return []string{"default"}
	}
	return []string{""}
}

// Right is a permission: the API server can be asked whether a user has it, and a Role grants it.
type Right struct {
	Where Where
	Verb  string
	// Group is the API group; empty: Kubernetes' core.
	Group string
	// Resource is the plural, such as pods, and Subresource what follows it, such as eviction.
	Resource, Subresource string
	// Name limits the right to the object of that name; empty: every object.
	Name string
	// Why is a note for the reader of a Role, where the reason is not obvious.
	Why string
}

// Path is the resource as rules of Roles have it: pods/eviction.
func (r Right) Path() string {
	if r.Subresource == "" {
		return r.Resource
	}
	return r.Resource + "/" + r.Subresource
}

// String is the right as `kubectl auth can-i` takes it: "patch deployments.apps/scale".
func (r Right) String() string { return r.In("").String() }

// rights are the same verbs on several resources: a resource is "pods" or "pods/eviction".
func rights(where Where, group, resources, verbs string) (all []Right) {
	for resource := range strings.FieldsSeq(resources) {
		base, sub, _ := strings.Cut(resource, "/")
		for verb := range strings.FieldsSeq(verbs) {
			all = append(all, Right{Where: where, Verb: verb, Group: group, Resource: base, Subresource: sub})
		}
	}
	return all
}

// In is the right in one of its namespaces, as the API server is asked about it.
func (r Right) In(namespace string) existing.Permission {
	return existing.Permission{
		Verb: r.Verb, Group: r.Group, Resource: r.Resource, Subresource: r.Subresource, Namespace: namespace, Name: r.Name,
	}
}
