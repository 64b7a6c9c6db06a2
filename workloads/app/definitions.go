package app

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Definition is a kind that a CustomResourceDefinition makes.
type Definition struct {
	schema.GroupKind
	Cluster bool // its objects have no namespace
}

// Defines is the kind that the object makes; the zero value: it makes none.
func (m Manifest) Defines() (d Definition) {
	if m.Object.GroupVersionKind().GroupKind().String() != "CustomResourceDefinition.apiextensions.k8s.io" {
		return d
	}
	d.Group, _, _ = unstructured.NestedString(m.Object.Object, "spec", "group")
	d.Kind, _, _ = unstructured.NestedString(m.Object.Object, "spec", "names", "kind")
	scope, _, _ := unstructured.NestedString(m.Object.Object, "spec", "scope")
	d.Cluster = scope == "Cluster"
	return d
}

// kinds are what manifests add to the kinds of Kubernetes. They are found once, because they are asked for by each object.
type kinds struct {
	defined map[schema.GroupKind]bool // by a CustomResourceDefinition; true: its objects have no namespace
	served  map[string]bool           // groups of which the application has an API server
	later   bool                      // an operator that comes before the application may define kinds when it starts
}

func kindsOf(manifests []Manifest) kinds {
	k := kinds{map[schema.GroupKind]bool{}, map[string]bool{}, false}
	for _, m := range manifests {
		if d := m.Defines(); d.Kind != "" {
			k.defined[d.GroupKind] = d.Cluster
		}
		if m.Object.GetKind() == "APIService" {
			group, _, _ := unstructured.NestedString(m.Object.Object, "spec", "group")
			k.served[group] = true
		}
		k.later = k.later || m.Before && podSpecOf(m.Object) != nil
	}
	return k
}

// Defines reports whether the application brings the definition of a kind.
func (a App) Defines(kind schema.GroupKind) bool {
	_, defined := a.kinds.defined[kind]
	return defined
}

// Serves reports whether the application brings an API server of its own for a group.
func (a App) Serves(group string) bool { return a.kinds.served[group] }

// MayHave reports whether the cluster may have a kind, because of the application, or because it is there already.
func (a App) MayHave(kind schema.GroupKind) bool {
	return a.existing || a.kinds.later || a.Serves(kind.Group) || a.Defines(kind)
}
