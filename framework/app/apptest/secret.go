package apptest

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-ha/holdfast/workloads/app"
)

// secretsThere returns an error if the manifests have a Secret that a header comes from, and it lacks the key. Only names are looked at. A
// Secret that is not in the manifests may be made in the cluster, so its absence shows there.
func (p Probe) secretsThere(a app.App) error {
	for header, from := range p.Request.FromSecret {
		for _, m := range a.All() {
			if m.Object.GetKind() != "Secret" || m.Object.GetNamespace() != a.Namespace || m.Object.GetName() != from.Name || hasKey(m.Object, from.Key) {
				continue
			}
			return fmt.Errorf("probe %s: header %s: %s has no key %s: add it, or correct fromSecret", p.Name, header, m, from.Key)
		}
	}
	return nil
}

func hasKey(secret unstructured.Unstructured, key string) bool {
	for _, field := range []string{"data", "stringData"} {
		if _, has, _ := unstructured.NestedFieldNoCopy(secret.Object, field, key); has {
			return true
		}
	}
	return false
}
