package deploy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// StuckAfter is how long something may look stuck before it counts as stuck: what it waits for may be created after it.
const StuckAfter = 20 * time.Second

// state is what is known of an object.
type state struct {
	ready  bool
	why    string // it is not ready, as Kubernetes says it
	failed bool   // it does not become ready by itself, as far as is known
	final  bool   // it never becomes ready
}

// await waits until objects are ready: CustomResourceDefinitions are Established, Deployments Available, Jobs Complete, custom resources
// have no condition that says that they are not.
func (d *Deployment) await(ctx context.Context, objects []app.Manifest) error {
	waiting := slices.Clone(objects)
	var gaveUp error
	err := poll.Until(ctx, "the objects of the application to be ready", limit, func(ctx context.Context) (bool, string, error) {
		var left []app.Manifest
		var saw []string
		for _, m := range waiting {
			s, err := d.look(ctx, m)
			switch {
			case err != nil:
				return false, "", fmt.Errorf("look at %s: %w", m, err)
			case s.ready:
				continue
			case s.final:
				gaveUp = fmt.Errorf("%s does not become ready: %s", m, s.why)
				return true, "", nil
			}
			left, saw = append(left, m), append(saw, fmt.Sprintf("%s: %s", m, s.why))
		}
		waiting = left
		return len(left) == 0, strings.Join(saw, "; "), nil
	})
	return errors.Join(err, gaveUp)
}

// vanished is the state of an object that somebody has deleted, such as a Job with ttlSecondsAfterFinished: 0.
var vanished = state{why: "it was deleted before it was seen to be ready", failed: true, final: true}

// look asks for the state of an object.
func (d *Deployment) look(ctx context.Context, m app.Manifest) (state, error) {
	client, _, err := d.client(m)
	if err != nil {
		return state{}, err
	}
	o, err := client.Get(ctx, m.Object.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return vanished, nil
	}
	if err != nil {
		return state{}, err
	}
	s, err := stateOf(o)
	if err != nil {
		return s, err
	}
	return d.follow(ctx, o, s)
}

// follow adds to the state of an object what Kubernetes says of it besides. The state is final if it never becomes ready.
func (d *Deployment) follow(ctx context.Context, o *unstructured.Unstructured, s state) (state, error) {
	name := fmt.Sprintf("%s %s/%s", o.GetKind(), o.GetNamespace(), o.GetName())
	if s.ready {
		d.pace.see(name, allReady, Hindrance{})
		return s, nil
	}
	h, last, err := d.hindrance(ctx, o)
	if err != nil {
		return s, err
	}
	if h.Why == "" && s.failed {
		h.Why = s.why
	}
	s.final = d.pace.see(name, s.why, h) || s.final
	if words := cmp.Or(h.String(), last); words != "" && words != s.why {
		s.why += ": " + words
	}
	if s.final && h.Container != "" {
		s.why += "; its last lines:\n" + lastLines(ctx, d.Client, o.GetNamespace(), h.Pod, h.Container, true)
	}
	return s, nil
}

// Look is what Kubernetes says of a tested workload. hopeless says that it never becomes ready.
func (d *Deployment) Look(ctx context.Context, w app.Workload) (said string, hopeless bool, err error) {
	for _, m := range d.App.Manifests {
		if d.tested(m) && m.Object.GetKind() == w.Kind && m.Object.GetName() == w.Name {
			s, err := d.look(ctx, m)
			return s.why, s.final, err
		}
	}
	return "", false, nil
}

// stateOf is the state of an object. kstatus knows most kinds; a Job is ready for it while it runs, and a claim must have its volume, which
// it may get only with its first pod.
func stateOf(o *unstructured.Unstructured) (state, error) {
	switch o.GroupVersionKind().GroupKind().String() {
	case "Job.batch":
		return jobState(o), nil
	case "APIService.apiregistration.k8s.io":
		return conditionState(o, "Available"), nil
	case "PersistentVolumeClaim":
		if phase, _, _ := unstructured.NestedString(o.Object, "status", "phase"); phase != string(corev1.ClaimLost) {
			return state{ready: true}, nil
		}
	}
	result, err := status.Compute(o)
	if err != nil {
		return state{}, err
	}
	return state{
		ready: result.Status == status.CurrentStatus, why: result.Message, failed: result.Status == status.FailedStatus,
	}, nil
}

// jobState is ready when a Job has completed. One that is suspended is started by somebody else.
func jobState(o *unstructured.Unstructured) state {
	if suspended, _, _ := unstructured.NestedBool(o.Object, "spec", "suspend"); suspended {
		return state{ready: true}
	}
	if failed := condition(o, "Failed"); failed.is == "True" {
		return state{why: "it failed: " + failed.said, failed: true, final: true}
	}
	active, _, _ := unstructured.NestedInt64(o.Object, "status", "active")
	return state{ready: condition(o, "Complete").is == "True", why: fmt.Sprintf("it has not completed, with %d pods active", active)}
}

// conditionState is ready when a condition is true.
func conditionState(o *unstructured.Unstructured, kind string) state {
	c := condition(o, kind)
	return state{ready: c.is == "True", why: strings.TrimSpace(fmt.Sprintf("not %s %s", kind, c.said))}
}

// said is a condition of an object.
type said struct{ is, said string }

func condition(o *unstructured.Unstructured, kind string) said {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, one := range list {
		c, _ := one.(map[string]any)
		if c["type"] == kind {
			is, _ := c["status"].(string)
			reason, _ := c["reason"].(string)
			message, _ := c["message"].(string)
			return said{is, strings.Trim(reason+": "+message, ": ")}
		}
	}
	return said{}
}
