package fault

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// surge is how many pods of a bad version a world has beside those of the good one: they replace none.
const surge = 2

var (
	goodArgs = []string{"serve", "--quiet"}
	badArgs  = []string{"--broken=hang"}
)

func (w *world) isBad(d *appsv1.Deployment) bool {
	c := d.Spec.Template.Spec.Containers[0]
	return len(c.Args) > len(goodArgs) || c.Image == NoSuchImage
}

func (w *world) badNames() []string {
	return slices.DeleteFunc(w.allNames(), func(name string) bool { return !strings.HasPrefix(name, "bad-") })
}

// replaceable are the pods of a bad version that their controller replaces: that of a StatefulSet none that waits for its image.
func (w *world) replaceable() []string {
	return slices.DeleteFunc(w.badNames(), func(name string) bool {
		o, err := w.client.Tracker().Get(corev1.SchemeGroupVersion.WithResource("pods"), "ns", name)
		return err == nil && w.kind == statefulSet && waitsForImage(*o.(*corev1.Pod))
	})
}

// pod that was just started, and is ready.
func (w *world) pod() *corev1.Pod {
	template := w.deployment().Spec.Template
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Annotations: template.Annotations,
			Name:        fmt.Sprintf("pod-%03d", w.made), Namespace: "ns", UID: types.UID(fmt.Sprint(w.made)),
			Labels: map[string]string{"app": "backend"},
		},
		Spec: corev1.PodSpec{NodeName: w.place(), Containers: template.Spec.Containers},
	}
	p.Status.Phase = corev1.PodPending
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: p.Spec.Containers[0].Name, Resources: &corev1.ResourceRequirements{Requests: p.Spec.Containers[0].Resources.Requests}, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}}}
	if !w.starting {
		p.Status.Phase = corev1.PodRunning
		p.Status.ContainerStatuses[0].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
		p.Status.ContainerStatuses[0].ContainerID = "containerd://" + p.Name + "-first"
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	return p
}

// badPod runs, and is not ready if its template has a readiness probe. Without its image it waits.
func (w *world) badPod() *corev1.Pod {
	p := w.pod()
	p.Name = strings.Replace(p.Name, "pod-", "bad-", 1)
	if !w.unprobed {
		p.Status.Conditions = nil
	}
	if p.Spec.Containers[0].Image == NoSuchImage && !w.starting {
		p.Status.Phase, p.Status.Conditions = corev1.PodPending, nil
		p.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}
	}
	if w.ofBad != nil {
		w.ofBad(p)
	}
	return p
}

// commanded gives the one container another command line or image.
func (w *world) commanded(patch string) (bool, runtime.Object, error) {
	var d struct {
		Spec struct {
			Template struct {
				Spec struct{ Containers []corev1.Container }
			}
		}
	}
	if err := json.Unmarshal([]byte(patch), &d); err != nil {
		return true, nil, err
	}
	w.patches = append(w.patches, patch)
	now := w.deployment()
	if !w.deaf {
		now.Generation++
		is, to := &now.Spec.Template.Spec.Containers[0], d.Spec.Template.Spec.Containers[0]
		if is.Image = cmp.Or(to.Image, is.Image); to.Image == "" {
			is.Args = to.Args
		}
		_ = w.client.Tracker().Update(deployments, now, "ns")
	}
	w.reconcile(nil)
	return true, now, nil
}
