package fault

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
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/poll"
)

// Enforce applies the ValidatingAdmissionPolicy that `holdfast audit --emit-policy` writes, and tries manifests against it
// that are made of the workload's own: good ones, which it is to leave alone, and bad ones, which it is to refuse. All are
// tried as dry runs, and what the API server answers is put into the record; whether that was right is not the fault's to
// judge. The workload must have a hard constraint over zones. The undo removes the policy.
//
// The policy is for the whole cluster, and binds only what is labelled as critical. One that is there already, and that no
// Enforce has left behind, is an error, and stays.
//
// Source: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
type Enforce struct {
	// DeploymentsOnly forgets StatefulSets in what the policy binds.
	DeploymentsOnly bool
}

const (
	// enforceLimit bounds how long an API server may take to act by a policy that was made or removed. It is told by a watch,
	// and compiles policies once a second.
	enforceLimit = time.Minute
	// answerLimit bounds how long an API server may be away when a manifest is tried.
	answerLimit = 30 * time.Second
)

// EnforcedBy marks what an Enforce has made. What the audit emits, and others may have applied, has no such label.
const EnforcedBy = "holdfast.dev/enforced-by"

func (e Enforce) String() string {
	if e.DeploymentsOnly {
		return "refuse critical Deployments, and not StatefulSets, without a hard zone constraint"
	}
	return "refuse critical workloads without a hard zone constraint"
}

// Plan implements Fault. The policy is active when it refuses a bad manifest. All manifests are tried then.
func (e Enforce) Plan(ctx context.Context, t Target) (Disruption, error) {
	d, err := t.deployment(ctx)
	if err != nil {
		return nil, err
	}
	manifests, err := manifestsOf(d)
	if err != nil {
		return nil, err
	}
	objects, err := e.policy()
	if err != nil {
		return nil, err
	}
	if err := t.notForeign(ctx, objects); err != nil {
		return nil, err
	}
	by := objects[0].GetName()
	var created bool
	var lifted string
	return &Effect{
		Do: func(ctx context.Context) (err error) {
			// What a killed run has left behind goes first. Without it, and whatever else refuses manifests, a bad one is admitted.
			if _, err := t.lift(ctx, objects); err != nil {
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
		See: func(ctx context.Context) (bool, Observation, error) {
			if !created {
				return false, Observation{Witness: "not created yet"}, nil
			}
			a, err := t.tryBad(ctx)
			if err != nil {
				return false, Observation{}, err
			}
			return a.by == by, Observation{Witness: unconstrained + " is " + a.String()}, nil
		},
		Then: func(ctx context.Context) error { return t.tryAll(ctx, manifests, by) },
		Undo: func(ctx context.Context) (err error) {
			if created {
				lifted, err = t.lift(ctx, objects)
			}
			return err
		},
		Restore: func(context.Context) (string, error) { return lifted, nil },
		Until:   "policy " + by + " to refuse " + unconstrained, Limit: enforceLimit,
	}, nil
}

// policy is what the audit emits, the policy first, marked as made by an Enforce.
func (e Enforce) policy() ([]*unstructured.Unstructured, error) {
	text, err := audit.Policy(audit.DefaultCritical)
	if err != nil {
		return nil, fmt.Errorf("emit a policy: %w", err)
	}
	var objects []*unstructured.Unstructured
	for _, document := range strings.Split(string(text), "---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			return nil, fmt.Errorf("read the policy: %w", err)
		}
		if !slices.Contains(audit.PolicyKinds(), o.GetKind()) {
			return nil, fmt.Errorf("read the policy: it has a %s", o.GetKind())
		}
		o.SetLabels(map[string]string{EnforcedBy: "holdfast"})
		objects = append(objects, o)
	}
	if e.DeploymentsOnly {
		return objects, forgetStatefulSets(objects[0])
	}
	return objects, nil
}

func forgetStatefulSets(policy *unstructured.Unstructured) error {
	rules, _, err := unstructured.NestedSlice(policy.Object, "spec", "matchConstraints", "resourceRules")
	if err != nil {
		return fmt.Errorf("read the policy: %w", err)
	}
	for _, r := range rules {
		if rule, is := r.(map[string]any); is {
			rule["resources"] = []any{"deployments"}
		}
	}
	return unstructured.SetNestedSlice(policy.Object, rules, "spec", "matchConstraints", "resourceRules")
}

func (t Target) policyObject(o *unstructured.Unstructured) dynamic.ResourceInterface {
	at, _ := audit.ResourceOf(o.GetKind()) // which is one of a policy's
	return t.Dynamic.Resource(at)
}

// notForeign is an error where somebody else has applied the policy: its refusals would be taken for ours, and it would be
// removed in the end.
func (t Target) notForeign(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, o := range objects {
		there, err := t.policyObject(o).Get(ctx, o.GetName(), metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("read %s %s: %w", o.GetKind(), o.GetName(), err)
		}
		if err == nil && there.GetLabels()[EnforcedBy] == "" {
			return fmt.Errorf("enforce %s: a %s of this name is there already, and not ours", o.GetName(), o.GetKind())
		}
	}
	return nil
}

// lift removes the policy and its binding, and waits until both are gone and a bad manifest is admitted.
func (t Target) lift(ctx context.Context, objects []*unstructured.Unstructured) (witness string, err error) {
	for _, o := range slices.Backward(objects) { // a policy without a binding does nothing; a binding without a policy is an error
		if err := t.policyObject(o).Delete(ctx, o.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return "", fmt.Errorf("remove %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	for _, o := range objects {
		what := fmt.Sprintf("%s %s to be gone", o.GetKind(), o.GetName())
		err := poll.Until(ctx, what, enforceLimit, func(ctx context.Context) (bool, string, error) {
			_, err := t.policyObject(o).Get(ctx, o.GetName(), metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return true, "it is gone", nil
			}
			return false, "it is there", err
		})
		if err != nil {
			return "", err
		}
	}
	witness, err = t.answers(ctx, "the API server to admit", func(a answer) bool { return a.accepted })
	return "the policy and its binding are gone; " + witness, err
}

// answers tries a bad manifest, a critical Deployment without any constraint, until the answer is the one that is wanted.
func (t Target) answers(ctx context.Context, who string, wanted func(answer) bool) (witness string, err error) {
	err = poll.Until(ctx, who+" "+unconstrained, enforceLimit, func(ctx context.Context) (bool, string, error) {
		witness = ""
		a, err := t.tryBad(ctx)
		if err == nil {
			witness = unconstrained + " is " + a.String()
		}
		return wanted(a), witness, err
	})
	return witness, err
}

// unconstrained is what the bad manifest is that stands for all.
const unconstrained = "a critical deployment without constraints"

func (t Target) tryBad(ctx context.Context) (answer, error) {
	d, err := t.deployment(ctx)
	if err != nil {
		return answer{}, err
	}
	return t.try(ctx, manifest{name: "none", critical: true, template: d})
}

// tryAll tries all manifests as both kinds, one after the other.
func (t Target) tryAll(ctx context.Context, manifests []manifest, by string) error {
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

// try asks the API server for a manifest as a dry run: all of admission and validation, and nothing is kept. An error is no
// answer.
func (t Target) try(ctx context.Context, m manifest) (answer, error) {
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
