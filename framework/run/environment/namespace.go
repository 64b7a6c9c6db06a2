package environment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/framework/base/interrupt"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/run/restore"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// madeBy is the annotation of a namespace with the token of the run that created it. No other run removes the namespace.
const madeBy = "holdfast.dev/made-by"

// makeNamespace creates the scenario's namespace, after a namespace of an earlier run on the same cluster is gone. If that
// namespace is not being deleted, it may be in use, and makeNamespace returns an error. Load has a namespace of its own.
func (env *Environment) makeNamespace(ctx context.Context) error {
	if len(env.Spec.Load) > 0 {
		env.loads = []string{env.Spec.LoadNamespace()}
		if err := env.claim(ctx, workloads.LoadNamespace(env.loads[0])); err != nil {
			return err
		}
	}
	if env.Spec.App != nil {
		return env.claim(ctx, appNamespace(env.namespace, env.Spec.App.Own, env.Spec.App.Privileged))
	}
	return env.claim(ctx, workloads.Namespace(env.namespace))
}

// makeFurther creates another namespace that objects of an application are in, as makeNamespace does.
func (env *Environment) makeFurther(ctx context.Context, n app.Namespace) error {
	env.further = append(env.further, n.Name)
	return env.claim(ctx, appNamespace(n.Name, n, env.Spec.App != nil && env.Spec.App.Privileged))
}

// appNamespace is a namespace for an application, with what its manifest says of it. A manifest may ask for a stricter Pod Security level, and not for one
// that allows more than the file does.
func appNamespace(name string, like app.Namespace, privileged bool) *corev1.Namespace {
	n := workloads.AppNamespace(name, privileged)
	if like.Labels[workloads.LabelEnforce] == "restricted" {
		delete(n.Labels, workloads.LabelEnforce)
	}
	labels := maps.Clone(like.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, n.Labels) // by which it is known to be ours
	n.Labels, n.Annotations = labels, maps.Clone(like.Annotations)
	return n
}

// claim creates a namespace, marked as this run's.
func (env *Environment) claim(ctx context.Context, wanted *corev1.Namespace) error {
	var inUse error
	name := wanted.Name
	if wanted.Annotations == nil {
		wanted.Annotations = map[string]string{}
	}
	wanted.Annotations[madeBy] = env.Token
	env.gone[name] = env.Interrupt.Add(interrupt.Pending{Undo: "remove namespace " + name, Done: "namespace " + name + " is removed"})
	err := poll.Until(ctx, "namespace "+name+" of an earlier run to be gone", clearLimit,
		func(ctx context.Context) (done bool, saw string, err error) {
			err = env.create(ctx, wanted.DeepCopy())
			if !apierrors.IsAlreadyExists(err) {
				return err == nil, "", err
			}
			old, err := env.client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return false, "", err
			}
			ending := old.Status.Phase == corev1.NamespaceTerminating
			if env.made(old) && !ending { // an earlier attempt succeeded, and its answer was lost
				return true, "", nil
			}
			switch {
			case old.Labels[workloads.LabelPartOf] != workloads.PartOf:
				inUse = fmt.Errorf("namespace %s is there already, and holdfast has not made it: remove it, or name another in the manifests of the test", name)
			case !ending:
				inUse = fmt.Errorf("namespace %s is there already, and this run has not made it: a run that was killed has left it, "+
					"or another program uses it; 'holdfast heal %s' removes it", name, env.Cluster.Name())
			}
			return inUse != nil, string(old.Status.Phase), nil
		})
	if err := errors.Join(err, inUse); err != nil {
		return err
	}
	return env.awaitServiceAccount(ctx, name)
}

// awaitServiceAccount waits for the default service account. Until the controller manager has created it, no pod is admitted, and
// the controller manager may just have lost its leader election together with an API server.
//
// Source: https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/#serviceaccount-controller
func (env *Environment) awaitServiceAccount(ctx context.Context, namespace string) error {
	return poll.Until(ctx, "namespace "+namespace+" to have its service account", clearLimit,
		func(ctx context.Context) (bool, string, error) {
			_, err := env.client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
			return err == nil, "", err
		})
}

// emptyNamespaces empties the scenario's namespaces, and then those of operators, which may have to finalize what is in it.
func (env *Environment) emptyNamespaces(ctx context.Context) error {
	err := env.emptyNamespace(ctx, env.namespace)
	for _, name := range slices.Concat(env.loads, env.further) {
		err = errors.Join(err, env.emptyNamespace(ctx, name))
	}
	return err
}

// emptyNamespace empties a namespace with restore.EmptyNamespace. It leaves the namespace of another run alone: then that of this run is
// gone, or was never created.
func (env *Environment) emptyNamespace(ctx context.Context, name string) error {
	there, err := env.client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		err = nil
	case err != nil:
		return fmt.Errorf("look at namespace %s: %w", name, err)
	case env.made(there):
		err = restore.EmptyNamespace(ctx, env.client, there)
	}
	if gone := env.gone[name]; err == nil && gone != nil {
		gone()
	}
	return err
}

// made reports whether this run created a namespace.
func (env *Environment) made(n *corev1.Namespace) bool { return n.Annotations[madeBy] == env.Token }
