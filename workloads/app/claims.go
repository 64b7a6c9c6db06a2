package app

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// Claim is a volume that an object asks for: a PersistentVolumeClaim, a claim template of a StatefulSet, or the claim of an ephemeral
// volume.
type Claim struct {
	Manifest
	Spec corev1.PersistentVolumeClaimSpec
}

// Class is the StorageClass that the claim names. Default: it names none, and gets the cluster's default class.
func (c Claim) Class() (name string, byDefault bool) {
	return ptr.Deref(c.Spec.StorageClassName, ""), c.Spec.StorageClassName == nil
}

// Provisioned reports whether the claim asks for a new volume. Another one names a volume, or an empty class, and is bound to a
// PersistentVolume that somebody else makes.
func (c Claim) Provisioned() bool {
	name, byDefault := c.Class()
	return c.Spec.VolumeName == "" && (byDefault || name != "")
}

// Claims are the volumes that the application asks for.
func (a App) Claims() (all []Claim) {
	for _, m := range a.All() {
		for _, spec := range claimSpecs(m.Object) {
			c := Claim{Manifest: m}
			if runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &c.Spec) == nil { // else the API server says what is wrong
				all = append(all, c)
			}
		}
	}
	return all
}

// claimSpecs are the specs of an object's claims.
func claimSpecs(o unstructured.Unstructured) (specs []map[string]any) {
	add := func(object map[string]any, path ...string) {
		if spec, has, _ := unstructured.NestedMap(object, path...); has {
			specs = append(specs, spec)
		}
	}
	if o.GetKind() == "PersistentVolumeClaim" {
		add(o.Object, "spec")
	}
	if o.GetKind() == "StatefulSet" {
		for _, template := range listed(o.Object, "spec", "volumeClaimTemplates") {
			add(template, "spec")
		}
	}
	for _, volume := range listed(podSpecOf(o), "volumes") {
		add(volume, "ephemeral", "volumeClaimTemplate", "spec")
	}
	return specs
}

// HasVolume reports whether the pods of a workload have a claim.
func (w Workload) HasVolume(a App) bool {
	own := func(m Manifest) bool {
		return m.Object.GetKind() == w.Kind && m.Object.GetName() == w.Name && m.Object.GetNamespace() == a.Namespace
	}
	if slices.ContainsFunc(a.Claims(), func(c Claim) bool { return own(c.Manifest) }) {
		return true
	}
	return slices.ContainsFunc(w.Template.Spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil })
}

// StorageClass is a StorageClass that the application brings.
func (a App) StorageClass(name string) (storagev1.StorageClass, bool) {
	for _, m := range a.All() {
		var class storagev1.StorageClass
		if m.Object.GetKind() == "StorageClass" && m.Object.GetName() == name &&
			runtime.DefaultUnstructuredConverter.FromUnstructured(m.Object.Object, &class) == nil {
			return class, true
		}
	}
	return storagev1.StorageClass{}, false
}

// Brings reports whether the application has an object of a kind and a name.
func (a App) Brings(kind, name string) bool {
	return slices.ContainsFunc(a.All(), func(m Manifest) bool { return m.Object.GetKind() == kind && m.Object.GetName() == name })
}
