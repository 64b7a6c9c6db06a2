package manifests

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// own are the fields that belong to the cluster and not to the application, by kind; "" are those of every kind. A copy gets its own.
// Velero and crane leave out the same fields when they restore an object in another cluster.
var own = map[string][][]string{
	"": {
		{"status"},
		{"metadata", "uid"}, {"metadata", "resourceVersion"}, {"metadata", "generation"}, {"metadata", "creationTimestamp"},
		{"metadata", "deletionTimestamp"}, {"metadata", "deletionGracePeriodSeconds"}, {"metadata", "selfLink"},
		{"metadata", "managedFields"}, {"metadata", "ownerReferences"}, {"metadata", "finalizers"},
		{"spec", "template", "metadata", "creationTimestamp"},
	},
	"Service": {
		{"spec", "clusterIPs"}, {"spec", "ipFamilies"}, {"spec", "healthCheckNodePort"}, {"spec", "loadBalancerIP"}, {"spec", "externalIPs"},
	},
	"PersistentVolumeClaim": {{"spec", "volumeName"}},
	"ServiceAccount":        {{"secrets"}}, // tokens that a controller made
}

// ownAnnotations are the prefixes of annotations that controllers and clients of the cluster wrote.
var ownAnnotations = []string{
	"kubectl.kubernetes.io/last-applied-configuration", "deployment.kubernetes.io/", "pv.kubernetes.io/", "volume.kubernetes.io/",
	"volume.beta.kubernetes.io/", "autoscaling.alpha.kubernetes.io/",
}

// strip removes from an object what belongs to the cluster that it was read from.
func strip(o *unstructured.Unstructured) {
	for _, kind := range []string{"", o.GetKind()} {
		for _, path := range own[kind] {
			unstructured.RemoveNestedField(o.Object, path...)
		}
	}
	notes := o.GetAnnotations()
	for name := range notes {
		if slices.ContainsFunc(ownAnnotations, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			delete(notes, name)
		}
	}
	if len(notes) == 0 {
		notes = nil
	}
	o.SetAnnotations(notes)
	if o.GetKind() == "Service" {
		stripService(o)
	}
}

// stripService removes the addresses and node ports of a Service. A headless Service stays headless.
func stripService(o *unstructured.Unstructured) {
	if address, _, _ := unstructured.NestedString(o.Object, "spec", "clusterIP"); address != "None" {
		unstructured.RemoveNestedField(o.Object, "spec", "clusterIP")
	}
	ports, _, _ := unstructured.NestedSlice(o.Object, "spec", "ports")
	for _, port := range ports {
		if fields, is := port.(map[string]any); is {
			delete(fields, "nodePort")
		}
	}
	if len(ports) > 0 {
		_ = unstructured.SetNestedSlice(o.Object, ports, "spec", "ports") // spec is a map: the ports came from it
	}
}
