package fault

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	k8stesting "k8s.io/client-go/testing"
)

// autoscaled is the horizontal autoscaler: as many replicas as the load, which needs 600 % of what one asks for, has use for.
func (w *world) autoscaled(a k8stesting.Action) (bool, runtime.Object, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	scaler := a.(k8stesting.CreateAction).GetObject().(*autoscalingv2.HorizontalPodAutoscaler)
	if w.deaf || w.frozen {
		return w.deaf, scaler, nil
	}
	d := w.deployment()
	used := 600 / *d.Spec.Replicas
	target := *scaler.Spec.Metrics[0].Resource.Target.AverageUtilization
	n := min(max(600/target, *scaler.Spec.MinReplicas), scaler.Spec.MaxReplicas)
	if w.unmoved {
		n = *d.Spec.Replicas
	}
	scaler.Status = autoscalingv2.HorizontalPodAutoscalerStatus{DesiredReplicas: n}
	if !w.unmeasured {
		scaler.Status.CurrentMetrics = []autoscalingv2.MetricStatus{{Resource: &autoscalingv2.ResourceMetricStatus{
			Current: autoscalingv2.MetricValueStatus{AverageUtilization: &used},
		}}}
	}
	d.Spec.Replicas = &n
	d.Generation++
	_ = w.client.Tracker().Update(deployments, d, "ns")
	w.reconcile(nil)
	return false, nil, nil // the tracker keeps it, with its status
}

// resized is the kubelet: what is asked for is given.
func (w *world) resized(a k8stesting.Action) (bool, runtime.Object, error) {
	if a.GetSubresource() != "resize" {
		return false, nil, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var patch corev1.Pod
	if err := json.Unmarshal(a.(k8stesting.PatchAction).GetPatch(), &patch); err != nil {
		return true, nil, err
	}
	return true, &corev1.Pod{}, w.give(a.(k8stesting.PatchAction).GetName(), patch.Spec.Containers[0].Resources.Requests)
}

// give has a pod ask for an amount, and then have it.
func (w *world) give(name string, requests corev1.ResourceList) error {
	if w.deaf {
		return nil
	}
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	change := func(do func(p *corev1.Pod)) error {
		o, err := w.client.Tracker().Get(pods, "ns", name)
		if err != nil {
			return err
		}
		p := o.(*corev1.Pod).DeepCopy()
		do(p)
		return w.client.Tracker().Update(pods, p, "ns")
	}
	err := change(func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests = requests
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodResizeInProgress, Status: corev1.ConditionTrue})
	})
	done := func() {
		_ = change(func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].Resources = &corev1.ResourceRequirements{Requests: requests}
			p.Status.Conditions = slices.DeleteFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodResizeInProgress })
		})
	}
	switch {
	case err != nil || w.frozen:
	case w.lag == 0:
		done()
	default:
		time.AfterFunc(w.lag, done)
	}
	return err
}

// dynamic is where the vertical autoscaler's objects are, and itself: each pod is to ask for 25m.
func (w *world) dynamic() dynamic.Interface {
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{verticalAutoscalers: "VerticalPodAutoscalerList"})
	client.PrependReactor("create", verticalAutoscalers.Resource, func(k8stesting.Action) (bool, runtime.Object, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.deaf || w.frozen || w.unmoved {
			return w.deaf, nil, nil
		}
		w.vertical = append(w.vertical, "made")
		for _, name := range w.podNames() {
			if err := w.give(name, cpu("25m")); err != nil {
				return true, nil, err
			}
		}
		return false, nil, nil
	})
	client.PrependReactor("delete", verticalAutoscalers.Resource, func(k8stesting.Action) (bool, runtime.Object, error) {
		w.vertical = append(w.vertical, "removed")
		return false, nil, nil
	})
	return client
}

// TestAutoscalersWithoutEffect: whoever does not do what he is there for is found out, and the error says what is missing.
func TestAutoscalersWithoutEffect(t *testing.T) {
	for name, s := range map[string]struct {
		fault Fault
		spoil func(*world)
		want  string
	}{
		"it has no metrics": {Autoscale{CPU: 60, Max: 10}, func(w *world) { w.unmeasured = true },
			"waited 4m0s for the autoscaler of backend to ask for more: last seen the autoscaler saw nothing used, and asked for 10 replicas ("},
		"the load needs no more": {Autoscale{CPU: 60, Max: 10}, func(w *world) { w.unmoved = true },
			"waited 4m0s for the autoscaler of backend to ask for more: last seen the autoscaler saw 100 % of the requested processor time used, " +
				"and asked for 6 replicas ("},
		"nothing is recommended": {AutoscaleVertically{}, func(w *world) { w.unmoved = true },
			"waited 5m0s for the vertical autoscaler to resize a pod of backend: last seen each has at most 5m ("},
		"nothing to do, horizontally": {Autoscale{CPU: 60, Max: 6}, func(*world) {},
			"autoscale backend: 60 % of processor time, 6 to 6 replicas leave it nothing to do"},
		"nothing to do in place": {Resize{CPU: "5m"}, func(*world) {}, "resize backend to 5m: it has that"},
		"no quantity":            {Resize{CPU: "much"}, func(*world) {}, `resize backend to "much": `},
		"pods that ask for nothing": {Autoscale{CPU: 60, Max: 10}, func(w *world) {
			d := w.deployment()
			d.Spec.Template.Spec.Containers[0].Resources.Requests = nil
			_ = w.client.Tracker().Update(deployments, d, "ns")
		}, "autoscale backend: its pods ask for no processor time to use a share of"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(6, "w1", "w2", "w3")
				s.spoil(w)
				heal, err := inject(t.Context(), s.fault, w.target())
				if err == nil || !strings.HasPrefix(err.Error(), s.want) || len(w.seen) != 0 {
					t.Errorf("got %v, seen %q\nwant %s", err, w.seen, s.want)
				}
				w.unmeasured = false
				if err := heal(t.Context()); err != nil || len(w.podNames()) != 6 {
					t.Errorf("undo: %v, %d pods", err, len(w.podNames()))
				}
			})
		})
	}
}

// TestAnAutoscalerThatDoesNotScaleDown is removed, what it did is undone by hand, and that it had to be is said.
func TestAnAutoscalerThatDoesNotScaleDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(6, "w1", "w2", "w3")
		heal, err := inject(t.Context(), Autoscale{CPU: 60, Max: 10}, w.target())
		if err != nil {
			t.Fatal(err)
		}
		w.unmoved = true
		err = heal(t.Context())
		if want := "scale backend down: waited 4m0s for the autoscaler of backend to ask for as few as there were"; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		if left, err := w.client.Tracker().List(autoscalingv2.SchemeGroupVersion.WithResource("horizontalpodautoscalers"),
			autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"), "ns"); err != nil ||
			len(left.(*autoscalingv2.HorizontalPodAutoscalerList).Items) != 0 || len(w.podNames()) != 6 || len(w.healed) != 0 {
			t.Errorf("left %v, %v, %d pods, healed %q", left, err, len(w.podNames()), w.healed)
		}
	})
}

// TestTheVerticalAutoscalerGoesFirst: while it is there, it would resize again what the undo has resized.
func TestTheVerticalAutoscalerGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(6, "w1", "w2", "w3")
		target := w.target()
		heal, err := inject(t.Context(), AutoscaleVertically{}, target)
		if err != nil {
			t.Fatal(err)
		}
		w.client.PrependReactor("patch", "pods", func(k8stesting.Action) (bool, runtime.Object, error) {
			if !slices.Contains(w.vertical, "removed") {
				return true, nil, errors.New("resized while the autoscaler was there")
			}
			return false, nil, nil
		})
		if err := heal(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := target.Dynamic.Resource(verticalAutoscalers).Namespace("ns").Get(context.Background(), "backend", metav1.GetOptions{}); err == nil {
			t.Error("the autoscaler is still there")
		}
	})
}

// TestCPUGiven: what a kubelet has not said, or is about to change, is not known.
func TestCPUGiven(t *testing.T) {
	has := corev1.ContainerStatus{Resources: &corev1.ResourceRequirements{Requests: cpu("5m")}}
	for name, s := range map[string]struct {
		status corev1.PodStatus
		want   string
	}{
		"one container":    {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{has}}, "5m"},
		"two":              {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{has, has}}, "10m"},
		"one says nothing": {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{has, {}}}, ""},
		"none":             {corev1.PodStatus{}, ""},
		"on its way": {corev1.PodStatus{
			ContainerStatuses: []corev1.ContainerStatus{has},
			Conditions:        []corev1.PodCondition{{Type: corev1.PodResizeInProgress, Status: corev1.ConditionTrue}},
		}, ""},
		"waiting": {corev1.PodStatus{
			ContainerStatuses: []corev1.ContainerStatus{has},
			Conditions:        []corev1.PodCondition{{Type: corev1.PodResizePending, Status: corev1.ConditionTrue}},
		}, ""},
	} {
		got, given := cpuGiven(corev1.Pod{Status: s.status})
		if given != (s.want != "") || given && got.Cmp(resource.MustParse(s.want)) != 0 {
			t.Errorf("%s: %s, %t; want %q", name, got.String(), given, s.want)
		}
	}
}
