package manifests

import (
	"slices"
	"strings"

	"golang.org/x/mod/semver"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/holdfast-ha/holdfast/clusters/nodeimage"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// capabilities are arguments that tell Helm what a chart finds when it asks the cluster: without them, Helm answers for a cluster that has no kinds, and a
// chart that asks for PodDisruptionBudgets has none.
func (h Helm) capabilities(there []app.Manifest) (args []string) {
	version := h.Kubernetes
	if !semver.IsValid(version) {
		version = nodeimage.DefaultKubernetes
	}
	known := []string{"apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1/CustomResourceDefinition", "apiregistration.k8s.io/v1", "apiregistration.k8s.io/v1/APIService"}
	for kind := range scheme.Scheme.AllKnownTypes() {
		if of := kind.GroupVersion(); scheme.Scheme.Recognizes(of.WithKind(kind.Kind+"List")) && served(kind, version) {
			known = append(known, of.String(), of.String()+"/"+kind.Kind)
		}
	}
	for _, m := range there {
		d := m.Defines()
		versions, _, _ := unstructured.NestedSlice(m.Object.Object, "spec", "versions")
		for _, one := range versions {
			if one, _ := one.(map[string]any); d.Kind != "" && one["served"] != false {
				name, _ := one["name"].(string)
				known = append(known, d.Group+"/"+name, d.Group+"/"+name+"/"+d.Kind)
			}
		}
	}
	slices.Sort(known)
	args = []string{"--kube-version", version}
	for _, one := range slices.Compact(known) {
		args = append(args, "--api-versions", one) // an older Helm takes no lists
	}
	return args
}

// lastByDefault is the last version of Kubernetes that served new beta versions of an API unless it was told not to.
//
// Source: https://kubernetes.io/docs/reference/using-api/#api-groups
const lastByDefault = "v1.23.0"

// served reports whether a cluster of a version serves a kind by default.
func served(kind schema.GroupVersionKind, kubernetes string) bool {
	if strings.Contains(kind.Version, "alpha") {
		return false
	}
	begins, ends, _ := Lifetime(kind)
	if strings.Contains(kind.Version, "beta") && (begins == "" || semver.Compare(begins, lastByDefault) > 0) {
		return false
	}
	return (begins == "" || semver.Compare(begins, kubernetes) <= 0) && (ends == "" || semver.Compare(ends, kubernetes) > 0)
}
