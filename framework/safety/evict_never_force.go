package disturb

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Annotations by which owners tell autoscalers whether a pod may be evicted. They are about evictions, so they hold here as well.
//
// Sources: https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md, https://karpenter.sh/docs/concepts/disruption/
const (
	safeToEvict      = "cluster-autoscaler.kubernetes.io/safe-to-evict"
	safeLocalVolumes = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
	doNotDisrupt     = "karpenter.sh/do-not-disrupt"
)

var evictNeverForce = Rule{
	Number: 9, ID: "evict-never-force",
	Promise: "pods are evicted and never forced: a pod without a controller, or with data in an emptyDir, is refused",
	needs:   []string{"pods"},
	step: func(s *sight) {
		if !s.fault().Evicts && !s.fault().ByHook {
			return // its controller ends pods, as in every release of its owner
		}
		for _, p := range s.step.victims {
			s.evictable(p)
		}
	},
}

// evictable refuses a pod that an eviction would do harm to.
func (s *sight) evictable(p corev1.Pod) {
	if metav1.GetControllerOf(&p) == nil {
		s.refuse(objectOf(p), "give it a controller, or move it to another node", "no controller would make it again")
	}
	if p.Annotations[safeToEvict] == "false" || p.Annotations[doNotDisrupt] == "true" {
		s.refuse(objectOf(p), "ask its owner", "its annotations say that it must not be evicted")
	}
	if volumes := losing(p); len(volumes) > 0 {
		s.refuse(objectOf(p), "if the data may be lost, its owner can annotate the pod template with "+safeLocalVolumes+": "+strings.Join(volumes, ","),
			"the data in %s would be lost", strings.Join(volumes, ", "))
	}
}

// losing are the volumes of a pod that are lost with it, and of which its owner has not said that they may be.
func losing(p corev1.Pod) (volumes []string) {
	if p.Annotations[safeToEvict] == "true" {
		return nil
	}
	safe := strings.Split(strings.ReplaceAll(p.Annotations[safeLocalVolumes], " ", ""), ",")
	for _, v := range p.Spec.Volumes {
		if (v.EmptyDir != nil || v.Ephemeral != nil) && !slices.Contains(safe, v.Name) {
			volumes = append(volumes, v.Name)
		}
	}
	return volumes
}
