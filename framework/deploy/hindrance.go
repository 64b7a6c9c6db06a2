package deploy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/workloads"
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

// gone reports whether a pod has ended, or is about to.
func gone(p corev1.Pod) bool {
	return p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// HindranceOf is what keeps a pod from becoming ready. One that has ended or is going does not become ready.
func HindranceOf(p corev1.Pod) Hindrance {
	if gone(p) {
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
		case w != nil && timeline.Stuck(w.Reason):
			return Hindrance{Why: fmt.Sprintf("%s: %s: %s", name, w.Reason, w.Message), Pod: p.Name}
		case c.RestartCount >= timeline.Crashes && !c.Ready:
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

// hindrance is what keeps an object from becoming ready, what does not pass first. Without one, last is the last thing that Kubernetes has warned of
// about its pods, or an init container that has not ended.
func (d *Deployment) hindrance(ctx context.Context, o *unstructured.Unstructured) (h Hindrance, last string, err error) {
	pods, err := d.podsOf(ctx, o)
	if err != nil {
		return h, "", err
	}
	unready, starts := map[string]bool{}, false
	for _, p := range pods {
		unready[p.Name] = !slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue })
		one := HindranceOf(p)
		starts = starts || unready[p.Name] && one.Why == "" && !gone(p)
		if one.Why != "" && (h.Why == "" || h.how != lasting && one.how == lasting) {
			h = one
		}
		for _, c := range p.Status.InitContainerStatuses {
			if c.State.Running != nil && !c.Ready {
				last = fmt.Sprintf("pod %s: init container %s has not ended", p.Name, c.Name)
			}
		}
	}
	if h.Why != "" && h.how == lasting {
		return h, "", nil
	}
	notes, err := d.notes(ctx, o.GetNamespace())
	var refusal, creation corev1.Event
	var killed, probe string
	for _, e := range notes {
		about := e.InvolvedObject
		switch own := about.Kind == o.GetKind() && about.Name == o.GetName() && hasPods(o); {
		case own && e.Reason == "FailedCreate":
			refusal = e
		case own && e.Reason == "SuccessfulCreate":
			creation = e
		case about.Kind != "Pod" || !unready[about.Name]:
			continue
		case e.Type == corev1.EventTypeWarning:
			last = fmt.Sprintf("pod %s: %s: %s", about.Name, e.Reason, strings.TrimSpace(e.Message))
		}
		switch of := about.Name == h.Pod && strings.HasSuffix(about.FieldPath, "{"+h.Container+"}"); {
		case of && e.Reason == "Unhealthy" && !strings.HasPrefix(e.Message, "Readiness"):
			probe = strings.TrimSpace(e.Message)
		case of && e.Reason == "Killing" && strings.Contains(e.Message, " probe"): // failed liveness probe, failed startup probe
			killed = ", and killed: "
		}
	}
	if h.Container != "" {
		if killed != "" && probe != "" {
			h.Why += killed + probe
		}
		return h, "", err
	}
	failure := condition(o, "ReplicaFailure") // of a Deployment and a ReplicaSet
	if failure.is != "True" && happened(refusal).After(happened(creation)) {
		failure = said{"True", refusal.Reason + ": " + refusal.Message}
	}
	if active, _, _ := unstructured.NestedInt64(o.Object, "status", "active"); failure.is != "True" {
		return h, last, err
	} else if last = "no further pod is created: " + failure.said; starts || active > 0 { // whose pods may make room, or be what refuses
		return h, last, err
	}
	last += trusting(failure.said)
	return Hindrance{Why: last, how: refused}, last, err
}

// trusting is what follows a refusal because of the level of Pod Security that is enforced here.
func trusting(refusal string) string {
	if !strings.Contains(refusal, `violates PodSecurity "baseline`) {
		return ""
	}
	return ": " + workloads.HowToTrust
}
