package deploy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-ha/holdfast/framework/history/rollout"
)

// Hindrance is what keeps an object from becoming ready, as Kubernetes says it. The zero value: nothing is known to.
type Hindrance struct {
	Why       string
	Pod       string // that is hindered; empty: none is named
	Container string // that ends again and again; empty: none does
	how       how
	runs      int32 // how often the container was restarted
}

// how is what a hindrance may pass by.
type how int

const (
	lasting how = iota // nothing, as far as is known
	refused            // no pod is created, until something else of the application has ended or is ready
	crashed            // a container waits to be started once more, and may find what it needs then
	running            // it was started once more
)

// String is the hindrance with its pod.
func (h Hindrance) String() string {
	if h.Pod == "" {
		return h.Why
	}
	return fmt.Sprintf("pod %s: %s", h.Pod, h.Why)
}

// HindranceOf is what keeps a pod from becoming ready. One that has ended or is going does not become ready.
func HindranceOf(p corev1.Pod) Hindrance {
	if p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return Hindrance{}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return Hindrance{Why: c.Message, Pod: p.Name}
		}
	}
	for i, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		name := "container " + c.Name
		if i < len(p.Status.InitContainerStatuses) {
			name = "init " + name
		}
		switch w := c.State.Waiting; {
		case w != nil && rollout.Stuck(w.Reason):
			return Hindrance{Why: fmt.Sprintf("%s: %s: %s", name, w.Reason, w.Message), Pod: p.Name}
		case c.RestartCount >= rollout.Crashes && !c.Ready:
			h := Hindrance{Why: fmt.Sprintf("%s was restarted %d times", name, c.RestartCount), Pod: p.Name, Container: c.Name, how: running, runs: c.RestartCount}
			if w != nil {
				h.how = crashed
			}
			if last := c.LastTerminationState.Terminated; last != nil {
				h.Why += strings.TrimSuffix(fmt.Sprintf(", the last time after exit code %d (%s)", last.ExitCode, last.Reason), " ()")
			}
			return h
		}
	}
	return Hindrance{}
}

// hindrance is what keeps an object from becoming ready: what does not pass first.
func (d *Deployment) hindrance(ctx context.Context, o *unstructured.Unstructured, pods []corev1.Pod) (h Hindrance, err error) {
	for _, p := range pods {
		if one := HindranceOf(p); one.Why != "" && (h.Why == "" || one.how == lasting) {
			h = one
		}
		if h.Why != "" && h.how == lasting {
			return h, nil
		}
	}
	if h.Container != "" {
		probe, err := d.killedBy(ctx, o.GetNamespace(), h)
		h.Why += probe
		return h, err
	}
	why, err := d.notCreated(ctx, o, len(pods))
	if why != "" {
		h = Hindrance{Why: "no further pod is created: " + why, how: refused}
	}
	return h, err
}

// killedBy is the probe for which the kubelet has killed a container, with what it said; empty: there is none.
func (d *Deployment) killedBy(ctx context.Context, namespace string, h Hindrance) (probe string, err error) {
	notes, err := d.notes(ctx, namespace)
	killed := false
	for _, e := range notes {
		if e.InvolvedObject.Kind != "Pod" || e.InvolvedObject.Name != h.Pod || !strings.HasSuffix(e.InvolvedObject.FieldPath, "{"+h.Container+"}") {
			continue
		}
		switch {
		case e.Reason == "Killing" && (strings.Contains(e.Message, "failed liveness probe") || strings.Contains(e.Message, "failed startup probe")):
			killed = true
		case e.Reason == "Unhealthy" && !strings.HasPrefix(e.Message, "Readiness"):
			probe = ", and killed: " + strings.TrimSpace(e.Message)
		}
	}
	if !killed {
		return "", err
	}
	return probe, err
}

// notCreated is why a controller creates no further pod; empty: it lacks none, or nothing keeps it from that. A Deployment and a ReplicaSet
// have a condition for it. Of the others, the last event that says so must be newer than the last one that says the opposite.
func (d *Deployment) notCreated(ctx context.Context, o *unstructured.Unstructured, pods int) (why string, err error) {
	if c := condition(o, "ReplicaFailure"); c.is == "True" {
		return c.said, nil
	}
	if !lacksPods(o, pods) {
		return "", nil
	}
	notes, err := d.notes(ctx, o.GetNamespace())
	var refused, created corev1.Event
	for _, e := range notes {
		switch {
		case e.InvolvedObject.Kind != o.GetKind() || e.InvolvedObject.Name != o.GetName():
		case e.Reason == "FailedCreate":
			refused = e
		case e.Reason == "SuccessfulCreate":
			created = e
		}
	}
	if refused.Name == "" || !happened(refused).After(happened(created)) {
		return "", err
	}
	return refused.Reason + ": " + refused.Message, err
}

// lacksPods reports whether the controller of an object has created fewer pods than it should.
func lacksPods(o *unstructured.Unstructured, pods int) bool {
	number := func(otherwise int64, path ...string) int64 {
		if n, has, err := unstructured.NestedInt64(o.Object, path...); has && err == nil {
			return n
		}
		return otherwise
	}
	switch o.GroupVersionKind().GroupKind().String() {
	case "StatefulSet.apps":
		return int64(pods) < number(1, "spec", "replicas")
	case "DaemonSet.apps":
		return number(0, "status", "currentNumberScheduled") < number(0, "status", "desiredNumberScheduled")
	case "Job.batch":
		return number(0, "status", "active") == 0
	}
	return false
}

// awaited is what is known of pods that are not ready and that nothing hinders: the last thing that Kubernetes warns of, or else an init container
// that has not ended; empty: nothing.
func (d *Deployment) awaited(ctx context.Context, namespace string, pods []corev1.Pod) (text string, err error) {
	unready := map[string]bool{}
	for _, p := range pods {
		if slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}) {
			continue
		}
		unready[p.Name] = true
		for _, c := range p.Status.InitContainerStatuses {
			if c.State.Running != nil && !slices.ContainsFunc(p.Spec.InitContainers, func(of corev1.Container) bool { return of.Name == c.Name && of.RestartPolicy != nil }) {
				text = fmt.Sprintf("pod %s: init container %s has not ended", p.Name, c.Name)
			}
		}
	}
	if len(unready) == 0 {
		return "", nil
	}
	notes, err := d.notes(ctx, namespace)
	for _, e := range notes {
		if e.Type == corev1.EventTypeWarning && e.InvolvedObject.Kind == "Pod" && unready[e.InvolvedObject.Name] {
			text = fmt.Sprintf("pod %s: %s: %s", e.InvolvedObject.Name, e.Reason, strings.TrimSpace(e.Message))
		}
	}
	return text, err
}
