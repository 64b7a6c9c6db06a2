package disturb

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// stateful makes the workload under test a StatefulSet, whose replicas have volumes of their own.
func (w *world) stateful() *appsv1.StatefulSet {
	d := w.Deployments[0]
	set := appsv1.StatefulSet{
		ObjectMeta: d.ObjectMeta,
		Spec: appsv1.StatefulSetSpec{Replicas: d.Spec.Replicas, Selector: d.Spec.Selector, Template: d.Spec.Template, VolumeClaimTemplates: []corev1.PersistentVolumeClaim{
			{ObjectMeta: metav1.ObjectMeta{Name: "data"}},
		}},
		Status: appsv1.StatefulSetStatus{ObservedGeneration: 2, Replicas: 3, UpdatedReplicas: 3, ReadyReplicas: 3, AvailableReplicas: 3},
	}
	w.Deployments, w.StatefulSets = w.Deployments[1:], append(w.StatefulSets, set)
	w.each("web", func(p *corev1.Pod) { p.OwnerReferences = owned1(KindStatefulSet, "web", set.UID) })
	w.Workloads[0].Kind = KindStatefulSet
	w.Admitted[Object{Kind: KindStatefulSet, Namespace: shop, Name: "web", UID: set.UID}] = nil
	return &w.StatefulSets[0]
}

func retention(deleted, scaled appsv1.PersistentVolumeClaimRetentionPolicyType) *appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy {
	return &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: deleted, WhenScaled: scaled}
}

const (
	retain = appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	remove = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
)

// Rule 15: a replica less may lose its volume, and a replica more makes one that stays. Neither is undone by scaling back.
func TestLeaveAsFound(t *testing.T) {
	named := func(w *world) { w.Limits.ScaleVolumes = []string{"web"} }
	refuses(t, leaveAsFound, map[string]try{
		"volumes that stay": {faults: "scale", change: func(w *world) { w.stateful() },
			reason: "one more replica creates PersistentVolumeClaim data-web-3, and scaling back does not delete it", object: "StatefulSet shop/web"},
		"volumes that stay, and the file names another": {faults: "scale", change: func(w *world) {
			w.stateful()
			w.Limits.ScaleVolumes = []string{"db", "we"}
		}, reason: "scaling back does not delete it"},
		"volumes that stay, said so, and ordinals from five": {faults: "scale", change: func(w *world) {
			set := w.stateful()
			set.Spec.PersistentVolumeClaimRetentionPolicy, set.Spec.Ordinals = retention(remove, retain), &appsv1.StatefulSetOrdinals{Start: 5}
		}, reason: "PersistentVolumeClaim data-web-8"},
		"volumes that are deleted": {faults: "scale", change: func(w *world) {
			w.stateful().Spec.PersistentVolumeClaimRetentionPolicy = retention(retain, remove)
		}, reason: "whenScaled: Delete"},
		"volumes that are deleted, and the file names it": {faults: "scale", change: func(w *world) {
			w.stateful().Spec.PersistentVolumeClaimRetentionPolicy = retention(remove, remove)
			named(w)
		}, reason: "whenScaled: Delete"},
		"volumes that are deleted, of one replica that is the only one": {faults: "scale", change: func(w *world) {
			w.stateful().Spec.PersistentVolumeClaimRetentionPolicy = retention(retain, remove)
			w.StatefulSets[0].Spec.Replicas, w.StatefulSets[0].Status = new(int32(1)), appsv1.StatefulSetStatus{
				ObservedGeneration: 2, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1,
			}
		}, reason: "whenScaled: Delete"},
		"volumes that stay, and the file names it": {faults: "scale", change: func(w *world) { w.stateful(); named(w) }},
		"volumes, and nothing is scaled": {faults: "rollout delete-pod drain", change: func(w *world) {
			w.stateful().Spec.PersistentVolumeClaimRetentionPolicy = retention(remove, remove)
		}},
		"no volumes": {faults: "scale", change: func(w *world) { w.stateful().Spec.VolumeClaimTemplates = nil }},
	})
}

// What stays, and which pods may be members of a quorum, is in the plan. It is about scaling StatefulSets, and about nothing else.
func TestScalingSaysWhatItLeaves(t *testing.T) {
	w := newWorld("scale", "rollout")
	w.stateful()
	w.Limits.ScaleVolumes = []string{"web"}
	p := w.plan()
	notes := strings.Join(p.Steps[0].Notes, "\n")
	for _, want := range []string{"it leaves PersistentVolumeClaim data-web-3: holdfast deletes no volume", "pods web-0 to web-2 may be members of a quorum"} {
		if !strings.Contains(notes, want) {
			t.Errorf("the plan notes %q, and not %q", notes, want)
		}
	}
	if len(p.Steps[1].Notes) > 0 {
		t.Errorf("of a rollout it notes %q", p.Steps[1].Notes)
	}
	if p := newWorld("scale").plan(); len(p.Steps[0].Notes) > 0 {
		t.Errorf("of a Deployment it notes %q", p.Steps[0].Notes)
	}
}
