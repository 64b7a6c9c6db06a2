package audit

import (
	"regexp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/holdfast-ha/holdfast/workloads"
)

// deployment returns a Deployment as a Workload, without its pods.
func deployment(d *appsv1.Deployment) Workload {
	w := Workload{
		Kind: Deployment, Namespace: d.Namespace, Name: d.Name, UID: d.UID, Replicas: replicas(d.Spec.Replicas),
		Selector: d.Spec.Selector, Template: d.Spec.Template, Claims: claims(d.Spec.Template.Spec),
	}
	w.Update.Rolling = d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType
	if rolling := d.Spec.Strategy.RollingUpdate; w.Update.Rolling && rolling != nil {
		w.Update.MaxSurge = share(rolling.MaxSurge, w.Replicas, true)
		w.Update.MaxUnavailable = share(rolling.MaxUnavailable, w.Replicas, false)
	} else if w.Update.Rolling { // the API's defaults
		quarter := intstr.FromString("25%")
		w.Update.MaxSurge, w.Update.MaxUnavailable = share(&quarter, w.Replicas, true), share(&quarter, w.Replicas, false)
	}
	if w.Update.Rolling && w.Update.MaxSurge == 0 && w.Update.MaxUnavailable == 0 {
		w.Update.MaxUnavailable = 1 // as the controller does: 25 % of 3 rounds down to 0, which must not block the rollout
	}
	if d.Spec.Paused {
		w.Update.ByHand = "its rollout is paused: kubectl rollout resume applies the change"
	}
	return w
}

// statefulSet returns a StatefulSet as a Workload, without its pods.
func statefulSet(s *appsv1.StatefulSet) Workload {
	w := Workload{
		Kind: StatefulSet, Namespace: s.Namespace, Name: s.Name, UID: s.UID, Replicas: replicas(s.Spec.Replicas),
		Selector: s.Spec.Selector, Template: s.Spec.Template,
		Claims: len(s.Spec.VolumeClaimTemplates) > 0 || claims(s.Spec.Template.Spec),
	}
	w.Update.Rolling = s.Spec.UpdateStrategy.Type != appsv1.OnDeleteStatefulSetStrategyType
	if !w.Update.Rolling {
		w.Update.ByHand = "its pods are replaced only when they are deleted (OnDelete)"
	}
	return w
}

// replicas returns the wanted number of replicas; the API's default is 1.
func replicas(wanted *int32) int {
	return int(ptr.Deref(wanted, 1))
}

func share(value *intstr.IntOrString, total int, up bool) int {
	n, err := intstr.GetScaledValueFromIntOrPercent(value, total, up)
	if err != nil { // the API rejects invalid values; nil is 0
		return 0
	}
	return n
}

// claims reports whether a pod has volumes of claims, or keeps data in a folder of its node.
func claims(pod corev1.PodSpec) bool {
	return slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil || v.Ephemeral != nil || v.HostPath != nil && !ofSystem.MatchString(v.HostPath.Path) && written(pod, v.Name)
	})
}

// ofSystem are the folders of a node in which no server keeps its data.
var ofSystem = regexp.MustCompile(`^/(dev|etc|lib|proc|run|sys|usr|var/(log|run))(/|$)|\.sock$`)

// written reports whether a container may write to a volume.
func written(pod corev1.PodSpec, volume string) bool {
	return slices.ContainsFunc(pod.Containers, func(c corev1.Container) bool {
		return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == volume && !m.ReadOnly })
	})
}

// configMapsOf returns the names of the ConfigMaps that the pods of a template use.
func configMapsOf(template corev1.PodTemplateSpec) (names []string) {
	for _, c := range workloads.ConfigsOf(template) {
		if c.Kind == "ConfigMap" {
			names = append(names, c.Name)
		}
	}
	return names
}

// container is a container with its place in the pod template.
type container struct {
	*corev1.Container
	list  string // containers or initContainers
	index int
}

// containersOf returns a pod's containers, init containers included.
func containersOf(pod corev1.PodSpec) (all []container) {
	for i := range pod.Containers {
		all = append(all, container{&pod.Containers[i], "containers", i})
	}
	for i := range pod.InitContainers {
		all = append(all, container{&pod.InitContainers[i], "initContainers", i})
	}
	return all
}

// running returns the containers that run as long as the pod does, sidecars included.
func running(pod corev1.PodSpec) (all []container) {
	for _, c := range containersOf(pod) {
		always := c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		if c.list == "containers" || always {
			all = append(all, c)
		}
	}
	return all
}
