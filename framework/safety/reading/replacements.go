package reading

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	disturb "github.com/holdfast-ha/holdfast/framework/safety"
	"github.com/holdfast-ha/holdfast/framework/safety/catalogue"
)

// replacements asks the API server, of each workload whose pods may end, whether it would create another of its pods. It creates none.
func (v *reading) replacements() {
	v.Admitted = map[disturb.Object]error{}
	if !slices.ContainsFunc(v.request.Faults, func(f catalogue.Fault) bool { return f.EndsPods }) {
		return
	}
	newest, ending := v.newest(), disturb.Ending(v.request, v.Snapshot)
	for _, d := range v.Deployments {
		of := disturb.Object{Kind: disturb.KindDeployment, Namespace: d.Namespace, Name: d.Name, UID: d.UID}
		template := d.Spec.Template
		if r := newest[d.UID]; r != nil {
			template = r.Spec.Template
		}
		if slices.Contains(ending, of) {
			v.ask(of, template, nil)
		}
	}
	for _, s := range v.StatefulSets {
		of := disturb.Object{Kind: disturb.KindStatefulSet, Namespace: s.Namespace, Name: s.Name, UID: s.UID}
		if slices.Contains(ending, of) {
			v.ask(of, s.Spec.Template, s.Spec.VolumeClaimTemplates)
		}
	}
}

// newest are the ReplicaSets that make pods of each Deployment.
func (v *reading) newest() map[types.UID]*appsv1.ReplicaSet {
	of := map[types.UID]*appsv1.ReplicaSet{}
	for i := range v.ReplicaSets {
		r := &v.ReplicaSets[i]
		if owner := metav1.GetControllerOf(r); owner != nil && r.Spec.Replicas != nil && *r.Spec.Replicas > 0 {
			of[owner.UID] = r
		}
	}
	return of
}

// ask asks whether a pod of a template would be created: admission policies, quotas and webhooks answer as for a real one.
func (v *reading) ask(of disturb.Object, template corev1.PodTemplateSpec, claims []corev1.PersistentVolumeClaim) {
	if v.err != nil {
		return
	}
	pod := &corev1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
	pod.Namespace, pod.Name, pod.GenerateName = of.Namespace, "", of.Name+"-"
	for _, c := range claims { // the controller of StatefulSets adds them
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: c.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: c.Name + "-" + of.Name + "-0"},
		}})
	}
	_, err := v.Client.CoreV1().Pods(of.Namespace).Create(v.ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	v.Admitted[of] = err
}
