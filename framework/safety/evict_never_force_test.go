package disturb

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestEvictNeverForce(t *testing.T) {
	scratch := func(notes map[string]string) func(*world) {
		return func(w *world) {
			w.each("web", func(p *corev1.Pod) {
				p.Annotations = notes
				p.Spec.Volumes = []corev1.Volume{
					{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
					{Name: "conf", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}},
				}
			})
		}
	}
	refuses(t, evictNeverForce, map[string]try{
		"bare pods on the nodes": {faults: "drain node-kill", change: func(w *world) {
			w.neighbour("w1", "w2", "w3")
			w.each("smtp", func(p *corev1.Pod) { p.OwnerReferences = nil })
		}, reason: "no controller would make it again"},
		"a bare pod on one node: another is taken": {faults: "drain node-kill", change: func(w *world) {
			w.neighbour("w1")
			w.each("smtp", func(p *corev1.Pod) { p.OwnerReferences = nil })
		}},
		"data in an emptyDir":                 {faults: "drain delete-pod node-kill", change: scratch(nil), reason: "the data in tmp would be lost"},
		"data in an emptyDir, in a release":   {faults: "rollout scale cordon", change: scratch(nil)},
		"its owner says that it may be lost":  {faults: "drain delete-pod", change: scratch(map[string]string{safeLocalVolumes: "cache, tmp"})},
		"its owner says so of another volume": {faults: "drain delete-pod", change: scratch(map[string]string{safeLocalVolumes: "tmp2"}), reason: "the data in tmp would be lost"},
		"its owner says so of the pod":        {faults: "drain delete-pod", change: scratch(map[string]string{safeToEvict: "true"})},
		"its owner forbids it":                {faults: "drain delete-pod", change: scratch(map[string]string{safeToEvict: "false", safeLocalVolumes: "tmp"}), reason: "must not be evicted"},
		"its owner forbids it in Karpenter's words": {faults: "drain delete-pod", change: func(w *world) {
			w.each("web", func(p *corev1.Pod) { p.Annotations = map[string]string{doNotDisrupt: "true"} })
		}, reason: "must not be evicted"},
		"data of a DaemonSet stays": {faults: "drain", change: func(w *world) {
			w.Limits.Neighbours = append(w.Limits.Neighbours, "kube-system")
			p := pod("kube-system", "proxy", "w1", w.web().Spec.Template, owned1("DaemonSet", "proxy", "ds"))
			p.Spec.Volumes = []corev1.Volume{{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
			w.Pods = append(w.Pods, p)
		}},
	})
}
