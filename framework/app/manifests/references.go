package manifests

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/holdfast-ha/holdfast/workloads/app"
)

// reference is an object that pods need.
type reference struct {
	by         pods
	kind, name string
	path       []any
	keys       []string // that they need; none: the object itself, or whatever it has
	whole      bool     // all its keys are taken, and which of them are needed is not known
}

// referred are the Secrets, ConfigMaps, accounts and claims that pods cannot start without.
func (p pods) referred() (all []reference) {
	add := func(kind, name string, optional *bool, path []any, keys ...string) {
		if name != "" && !ptr.Deref(optional, false) {
			all = append(all, reference{by: p, kind: kind, name: name, path: path, keys: keys, whole: len(keys) == 0})
		}
	}
	for _, c := range p.containers() {
		for i, one := range c.EnvFrom {
			s, m := ptr.Deref(one.SecretRef, corev1.SecretEnvSource{}), ptr.Deref(one.ConfigMapRef, corev1.ConfigMapEnvSource{})
			add("Secret", s.Name, s.Optional, below(c.path, "envFrom", i))
			add("ConfigMap", m.Name, m.Optional, below(c.path, "envFrom", i))
		}
		for i, one := range c.Env {
			from := ptr.Deref(one.ValueFrom, corev1.EnvVarSource{})
			s, m := ptr.Deref(from.SecretKeyRef, corev1.SecretKeySelector{}), ptr.Deref(from.ConfigMapKeyRef, corev1.ConfigMapKeySelector{})
			add("Secret", s.Name, s.Optional, below(c.path, "env", i), s.Key)
			add("ConfigMap", m.Name, m.Optional, below(c.path, "env", i), m.Key)
		}
	}
	for i, v := range p.spec.Volumes {
		path := below(p.path, "volumes", i)
		s, m := ptr.Deref(v.Secret, corev1.SecretVolumeSource{}), ptr.Deref(v.ConfigMap, corev1.ConfigMapVolumeSource{})
		add("Secret", s.SecretName, s.Optional, path, keysOf(s.Items)...)
		add("ConfigMap", m.Name, m.Optional, path, keysOf(m.Items)...)
		if s := v.PersistentVolumeClaim; s != nil && !p.templated(v.Name) {
			add("PersistentVolumeClaim", s.ClaimName, nil, path)
		}
		for k, source := range ptr.Deref(v.Projected, corev1.ProjectedVolumeSource{}).Sources {
			path := below(path, "projected", "sources", k)
			s, m := ptr.Deref(source.Secret, corev1.SecretProjection{}), ptr.Deref(source.ConfigMap, corev1.ConfigMapProjection{})
			add("Secret", s.Name, s.Optional, path, keysOf(s.Items)...)
			add("ConfigMap", m.Name, m.Optional, path, keysOf(m.Items)...)
		}
	}
	if p.spec.ServiceAccountName != "default" {
		add("ServiceAccount", p.spec.ServiceAccountName, nil, below(p.path, "serviceAccountName"))
	}
	return all
}

// templated reports whether a volume is replaced by that of a claim template of a StatefulSet, which has its name.
func (p pods) templated(volume string) bool {
	templates, _, _ := unstructured.NestedSlice(p.Object.Object, "spec", "volumeClaimTemplates")
	return slices.ContainsFunc(templates, func(one any) bool {
		template, _ := one.(map[string]any)
		name, _, _ := unstructured.NestedString(template, "metadata", "name")
		return name == volume
	})
}

func keysOf(items []corev1.KeyToPath) (keys []string) {
	for _, item := range items {
		keys = append(keys, item.Key)
	}
	return keys
}

// alwaysThere are the objects that Kubernetes creates in every namespace.
var alwaysThere = []string{"ConfigMap kube-root-ca.crt"}

// references finds what pods refer to, and no manifest creates.
func (c *checker) references(p pods) {
	for _, r := range p.referred() {
		there, is := c.object(r.kind, p.Object.GetNamespace(), r.name)
		switch {
		case slices.Contains(alwaysThere, r.kind+" "+r.name):
		case is:
			c.missingKeys(r, there)
		case c.makers.named(r.name):
		case c.makers.creators[r.kind]:
			c.notes(p.Manifest, r.path, "if the application does not start, "+r.next(), "no manifest creates %s %s; pods of the application are allowed to create it", r.kind, r.name)
		default:
			c.stops(p.Manifest, r.path, r.next(), "no manifest creates %s %s", r.kind, r.name)
		}
	}
	if name := p.spec.PriorityClassName; name != "" && !strings.HasPrefix(name, "system-") {
		c.wanted(p, "PriorityClass", name, "priorityClassName")
	}
	if name := ptr.Deref(p.spec.RuntimeClassName, ""); name != "" {
		c.wanted(p, "RuntimeClass", name, "runtimeClassName")
	}
}

// missingKeys finds keys that an object does not have. Only the names of the keys of a Secret are looked at.
func (c *checker) missingKeys(r reference, there app.Manifest) {
	if r.kind != "Secret" && r.kind != "ConfigMap" {
		return
	}
	for _, key := range r.keys {
		has := slices.ContainsFunc([]string{"data", "stringData", "binaryData"}, func(field string) bool {
			_, is, _ := unstructured.NestedFieldNoCopy(there.Object.Object, field, key)
			return is
		})
		if !has {
			c.stops(r.by.Manifest, r.path, "add the key, or mark the reference optional", "%s has no key %s", there, key)
		}
	}
}

// wanted finds a class that pods name, and no manifest creates.
func (c *checker) wanted(p pods, kind, name, field string) {
	if _, is := c.object(kind, "", name); !is && !c.plan.Existing {
		c.stops(p.Manifest, below(p.path, field), fmt.Sprintf("add the %s to the manifests of the test, or leave the field out", kind), "no manifest creates %s %s", kind, name)
	}
}

// next is what the user can do about an absent object.
func (r reference) next() string {
	switch r.kind {
	case "Secret":
		return "add it to the manifests of the test, mark it optional, or let holdfast make one of random values with --secrets generate"
	case "ConfigMap":
		return "add it to the manifests of the test, or mark it optional"
	}
	return "add it to the manifests of the test"
}
