package environment

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/framework/interrupt"
	"github.com/holdfast-ha/holdfast/framework/poll"
	"github.com/holdfast-ha/holdfast/framework/restore"
	"github.com/holdfast-ha/holdfast/workloads"
)

// madeBy is the annotation of a namespace with the token of the run that created it. No other run removes the namespace.
const madeBy = "holdfast.dev/made-by"

// makeNamespace creates the scenario's namespace, after a namespace of an earlier run on the same cluster is gone. If that
// namespace is not being deleted, it may be in use, and makeNamespace returns an error.
func (env *Environment) makeNamespace(ctx context.Context) error {
	var inUse error
	wanted := workloads.Namespace(env.namespace)
	if env.Spec.App != nil {
		wanted = workloads.AppNamespace(env.namespace)
	}
	wanted.Annotations = map[string]string{madeBy: env.Token}
	env.gone = env.Interrupt.Add(interrupt.Pending{
		Undo: "remove namespace " + env.namespace, Done: "namespace " + env.namespace + " is removed",
	})
	err := poll.Until(ctx, "namespace "+env.namespace+" of an earlier run to be gone", clearLimit,
		func(ctx context.Context) (done bool, saw string, err error) {
			err = env.create(ctx, wanted.DeepCopy())
			if !apierrors.IsAlreadyExists(err) {
				return err == nil, "", err
			}
			old, err := env.client.CoreV1().Namespaces().Get(ctx, env.namespace, metav1.GetOptions{})
			if err != nil {
				return false, "", err
			}
			if env.made(old) && old.Status.Phase != corev1.NamespaceTerminating { // an earlier attempt succeeded, and its answer was lost
				return true, "", nil
			}
			if old.Status.Phase != corev1.NamespaceTerminating {
				inUse = fmt.Errorf("namespace %s is there already, and this run has not made it: a run that was killed has left it, "+
					"or another program uses it; 'holdfast heal %s' removes it", env.namespace, env.Cluster.Name())
			}
			return inUse != nil, string(old.Status.Phase), nil
		})
	if err := errors.Join(err, inUse); err != nil {
		return err
	}
	return env.awaitServiceAccount(ctx)
}

// awaitServiceAccount waits for the default service account. Until the controller manager has created it, no pod is admitted, and
// the controller manager may just have lost its leader election together with an API server.
//
// Source: https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/#serviceaccount-controller
func (env *Environment) awaitServiceAccount(ctx context.Context) error {
	return poll.Until(ctx, "namespace "+env.namespace+" to have its service account", clearLimit,
		func(ctx context.Context) (bool, string, error) {
			_, err := env.client.CoreV1().ServiceAccounts(env.namespace).Get(ctx, "default", metav1.GetOptions{})
			return err == nil, "", err
		})
}

// emptyNamespace empties the scenario's namespace with restore.EmptyNamespace. It leaves the namespace of another run alone:
// then that of this run is gone, or was never created.
func (env *Environment) emptyNamespace(ctx context.Context) error {
	there, err := env.client.CoreV1().Namespaces().Get(ctx, env.namespace, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		err = nil
	case err != nil:
		return fmt.Errorf("look at namespace %s: %w", env.namespace, err)
	case env.made(there):
		err = restore.EmptyNamespace(ctx, env.client, there)
	}
	if err == nil && env.gone != nil {
		env.gone()
	}
	return err
}

// made reports whether this run created a namespace.
func (env *Environment) made(n *corev1.Namespace) bool { return n.Annotations[madeBy] == env.Token }
