package workloads

import (
	"cmp"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// Config is a ConfigMap or a Secret that the pods of a workload read.
type Config struct {
	Kind, Name string
	// Folder is where a kubelet keeps it for a pod that sees its changes while it runs, below the pod's own folder; empty: only pods that are
	// started later see them.
	Folder string
	// Followed says that the pod template has a checksum of configuration, so that pods are replaced when it changes.
	Followed bool
	// Optional says that pods are started without it, too.
	Optional bool
}

// String is the kind and the name.
func (c Config) String() string { return c.Kind + " " + c.Name }

// Rolls reports whether new pods are needed for a change to be seen, or are made for it anyhow.
func (c Config) Rolls() bool { return c.Folder == "" || c.Followed }

// rootCA is a ConfigMap in each namespace, which Kubernetes itself keeps as it is.
const rootCA = "kube-root-ca.crt"

// ConfigsOf are the ConfigMaps and Secrets that the pods of a template read. Those whose changes running pods see come first, and of them the ConfigMaps.
func ConfigsOf(template corev1.PodTemplateSpec) (all []Config) {
	followed := false
	for name := range template.Annotations {
		followed = followed || strings.Contains(strings.ToLower(name), "checksum")
	}
	add := func(kind, name, folder string, optional *bool) {
		same := func(c Config) bool { return c.Kind == kind && c.Name == name && (folder == "" || c.Folder != "") }
		if name != "" && name != rootCA && !slices.ContainsFunc(all, same) {
			all = append(all, Config{Kind: kind, Name: name, Folder: folder, Followed: followed, Optional: ptr.Deref(optional, false)})
		}
	}
	const configMap, secret = "ConfigMap", "Secret"
	containers := slices.Concat(template.Spec.InitContainers, template.Spec.Containers)
	for _, v := range template.Spec.Volumes {
		in := func(plugin string, items []corev1.KeyToPath) string {
			if len(items) > 0 || !mountedWhole(containers, v.Name) {
				return ""
			}
			return path.Join("volumes", "kubernetes.io~"+plugin, v.Name)
		}
		m, s := ptr.Deref(v.ConfigMap, corev1.ConfigMapVolumeSource{}), ptr.Deref(v.Secret, corev1.SecretVolumeSource{})
		add(configMap, m.Name, in("configmap", m.Items), m.Optional)
		add(secret, s.SecretName, in("secret", s.Items), s.Optional)
		for _, source := range ptr.Deref(v.Projected, corev1.ProjectedVolumeSource{}).Sources {
			m, s := ptr.Deref(source.ConfigMap, corev1.ConfigMapProjection{}), ptr.Deref(source.Secret, corev1.SecretProjection{})
			add(configMap, m.Name, in("projected", m.Items), m.Optional)
			add(secret, s.Name, in("projected", s.Items), s.Optional)
		}
	}
	for _, c := range containers {
		for _, e := range c.EnvFrom {
			m, s := ptr.Deref(e.ConfigMapRef, corev1.ConfigMapEnvSource{}), ptr.Deref(e.SecretRef, corev1.SecretEnvSource{})
			add(configMap, m.Name, "", m.Optional)
			add(secret, s.Name, "", s.Optional)
		}
		for _, e := range c.Env {
			from := ptr.Deref(e.ValueFrom, corev1.EnvVarSource{})
			m, s := ptr.Deref(from.ConfigMapKeyRef, corev1.ConfigMapKeySelector{}), ptr.Deref(from.SecretKeyRef, corev1.SecretKeySelector{})
			add(configMap, m.Name, "", m.Optional)
			add(secret, s.Name, "", s.Optional)
		}
	}
	slices.SortStableFunc(all, func(a, b Config) int {
		return cmp.Or(cmp.Compare(min(1, len(b.Folder)), min(1, len(a.Folder))), cmp.Compare(a.Kind, b.Kind))
	})
	return all
}

// mountedWhole reports whether a container has a volume as a folder, in which new files appear. A file of it that is mounted by itself never changes.
//
// Source: https://kubernetes.io/docs/concepts/storage/volumes/#using-subpath
func mountedWhole(containers []corev1.Container, volume string) bool {
	return slices.ContainsFunc(containers, func(c corev1.Container) bool {
		return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool {
			return m.Name == volume && m.SubPath == "" && m.SubPathExpr == ""
		})
	})
}
