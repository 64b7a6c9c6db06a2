package manifests

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-ha/holdfast/framework/audit"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
)

// ApplyPolicy applies the ValidatingAdmissionPolicy that `holdfast audit --emit policy` writes, and sends manifests to the API
// server that are made from the workload's own: good ones, which the policy must admit, and bad ones, which it must refuse. All
// are sent as dry runs. The answers are recorded, and not judged here. The workload must have a hard constraint over zones. The
// revert removes the policy.
//
// The policy applies to the whole cluster, but only to workloads that are labelled as critical. A policy of that name that
// holdfast did not create is an error, and stays.
//
// Source: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
type ApplyPolicy struct {
	// DeploymentsOnly leaves StatefulSets out of the policy.
	DeploymentsOnly bool
}

const (
	// policyLimit bounds how long an API server may take to follow a policy that was created or removed. It learns of the change
	// by a watch, and compiles policies once a second.
	policyLimit = time.Minute
	// answerLimit bounds how long an API server may be unavailable when a manifest is sent.
	answerLimit = 30 * time.Second
)

// AppliedBy is the label of the objects that ApplyPolicy creates. Objects that users applied from the audit's output lack it.
const AppliedBy = "holdfast.dev/enforced-by"

func (p ApplyPolicy) String() string {
	if p.DeploymentsOnly {
		return "refuse critical Deployments, and not StatefulSets, without a hard zone constraint"
	}
	return "refuse critical workloads without a hard zone constraint"
}

// Plan implements fault.Fault. The policy is active when it refuses a bad manifest. All manifests are sent then.
func (p ApplyPolicy) Plan(ctx context.Context, to fault.Target) (fault.Disruption, error) {
	t := target{to}
	d, err := t.Controller(ctx)
	if err != nil {
		return nil, err
	}
	manifests, err := manifestsOf(d)
	if err != nil {
		return nil, err
	}
	objects, err := p.objects()
	if err != nil {
		return nil, err
	}
	if err := t.notForeign(ctx, objects); err != nil {
		return nil, err
	}
	by := objects[0].GetName()
	var created bool
	var removed string
	return &fault.Effect{
		Do: func(ctx context.Context) error {
			// First remove what a killed run has left. Without any policy, the API server must admit a bad manifest.
			if _, err := t.remove(ctx, objects); err != nil {
				return err
			}
			created = true
			for _, o := range objects {
				_, err := t.policyObject(o).Create(ctx, o, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
				if err != nil {
					return fmt.Errorf("create %s %s: %w", o.GetKind(), o.GetName(), err)
				}
			}
			return nil
		},
		See: func(ctx context.Context) (bool, fault.Observation, error) {
			if !created {
				return false, fault.Observation{Witness: "not created yet"}, nil
			}
			a, err := t.tryBad(ctx)
			if err != nil {
				return false, fault.Observation{}, err
			}
			return a.by == by, fault.Observation{Witness: unconstrained + " is " + a.String()}, nil
		},
		Then: func(ctx context.Context) error { return t.tryAll(ctx, manifests, by) },
		Undo: func(ctx context.Context) (err error) {
			if created {
				removed, err = t.remove(ctx, objects)
			}
			return err
		},
		Restore: func(context.Context) (string, error) { return removed, nil },
		Until:   "policy " + by + " to refuse " + unconstrained, Limit: policyLimit,
	}, nil
}

// objects returns the objects that the audit emits, the policy first, with the label AppliedBy.
func (p ApplyPolicy) objects() ([]*unstructured.Unstructured, error) {
	text, err := audit.Policy(audit.DefaultCritical)
	if err != nil {
		return nil, fmt.Errorf("emit a policy: %w", err)
	}
	policy := string(text)
	if p.DeploymentsOnly {
		policy = strings.Replace(policy, "[deployments, statefulsets]", "[deployments]", 1)
	}
	var objects []*unstructured.Unstructured
	for document := range strings.SplitSeq(policy, "---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			return nil, fmt.Errorf("read the policy: %w", err)
		}
		o.SetLabels(map[string]string{AppliedBy: "holdfast"})
		objects = append(objects, o)
	}
	return objects, nil
}

func (t target) policyObject(o *unstructured.Unstructured) dynamic.ResourceInterface {
	at, _ := audit.ResourceOf(o.GetKind()) // every kind of a policy is known
	return t.Dynamic.Resource(at)
}

// notForeign returns an error if holdfast did not create the existing policy: its refusals would be attributed to ApplyPolicy, and
// the revert would remove it.
func (t target) notForeign(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, o := range objects {
		there, err := t.policyObject(o).Get(ctx, o.GetName(), metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("read %s %s: %w", o.GetKind(), o.GetName(), err)
		}
		if err == nil && there.GetLabels()[AppliedBy] == "" {
			return fmt.Errorf("apply policy %s: a %s of this name exists that holdfast did not create", o.GetName(), o.GetKind())
		}
	}
	return nil
}

// remove removes the policy and its binding, and waits until both are gone and the API server admits a bad manifest.
func (t target) remove(ctx context.Context, objects []*unstructured.Unstructured) (witness string, err error) {
	for _, o := range slices.Backward(objects) { // a policy without a binding does nothing; a binding without a policy is an error
		if err := t.policyObject(o).Delete(ctx, o.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return "", fmt.Errorf("remove %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	for _, o := range objects {
		what := fmt.Sprintf("%s %s to be gone", o.GetKind(), o.GetName())
		err := poll.Until(ctx, what, policyLimit, func(ctx context.Context) (bool, string, error) {
			_, err := t.policyObject(o).Get(ctx, o.GetName(), metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return true, "it is gone", nil
			}
			return false, "it exists", err
		})
		if err != nil {
			return "", err
		}
	}
	err = poll.Until(ctx, "the API server to admit "+unconstrained, policyLimit, func(ctx context.Context) (bool, string, error) {
		a, err := t.tryBad(ctx)
		witness = unconstrained + " is " + a.String()
		return err == nil && a.accepted, witness, err
	})
	return "the policy and its binding are gone; " + witness, err
}

// unconstrained describes the bad manifest by which a policy is seen to be in force.
const unconstrained = "a critical deployment without constraints"

func (t target) tryBad(ctx context.Context) (answer, error) {
	d, err := t.Controller(ctx)
	if err != nil {
		return answer{}, err
	}
	return t.try(ctx, manifest{name: "none", critical: true, template: d})
}

// tryAll sends each manifest as a Deployment and as a StatefulSet, and records the answers.
func (t target) tryAll(ctx context.Context, manifests []manifest, by string) error {
	for _, m := range manifests {
		for _, m.statefulSet = range []bool{false, true} {
			var said answer
			what := "an answer to " + m.kind() + " " + m.name
			err := poll.Until(ctx, what, answerLimit, func(ctx context.Context) (bool, string, error) {
				var err error
				said, err = t.try(ctx, m)
				return err == nil, "none", err
			})
			if err != nil {
				return err
			}
			event := said.event(t.Namespace, m, by)
			t.Record.Note(history.Event{Admission: &event})
		}
	}
	return nil
}

// try sends a manifest as a dry run: the API server admits and validates it, and stores nothing. An error is not an answer.
func (t target) try(ctx context.Context, m manifest) (answer, error) {
	options := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict}
	d := m.deployment(t.Namespace)
	var err error
	if m.statefulSet {
		_, err = t.Client.AppsV1().StatefulSets(t.Namespace).Create(ctx, asStatefulSet(d), options)
	} else {
		_, err = t.Client.AppsV1().Deployments(t.Namespace).Create(ctx, d, options)
	}
	return answerOf(err)
}

func asStatefulSet(d *appsv1.Deployment) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{ObjectMeta: d.ObjectMeta, Spec: appsv1.StatefulSetSpec{
		Replicas: d.Spec.Replicas, Selector: d.Spec.Selector, Template: d.Spec.Template, ServiceName: d.Name,
	}}
}
