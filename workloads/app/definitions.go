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

// Defines reports whether the application brings the definition of a kind.
func (a App) Defines(kind schema.GroupKind) bool {
	for _, m := range a.All() {
		if m.Defines().GroupKind == kind {
			return true
		}
	}
	return false
}
