package run

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

// madeBy is the annotation of a namespace that says which run made it: no other run removes it.
const madeBy = "holdfast.dev/made-by"

// makeNamespace makes the scenario's namespace, once the one of an earlier run on the same cluster is gone. One that
// nobody has deleted is left alone: somebody may be using it.
func (env *environment) makeNamespace(ctx context.Context) error {
	var inUse error
	wanted := workloads.Namespace(env.namespace)
	wanted.Annotations = map[string]string{madeBy: env.run.token}
	env.gone = env.run.settings.Interrupt.Add(interrupt.Pending{
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
			if env.made(old) && old.Status.Phase != corev1.NamespaceTerminating { // the answer to an earlier try never came
				return true, "", nil
			}
			if old.Status.Phase != corev1.NamespaceTerminating {
				inUse = fmt.Errorf("namespace %s is there already, and this run has not made it: a run that was killed has left it, "+
					"or another program uses it; 'holdfast heal %s' removes it", env.namespace, env.cluster.Name())
			}
			return inUse != nil, string(old.Status.Phase), nil
		})
	if err := errors.Join(err, inUse); err != nil {
		return err
	}
	return env.awaitServiceAccount(ctx)
}

// awaitServiceAccount waits for the service account of pods that name none: the controller manager makes it, which may just have
// lost its lead with an API server, and until then no pod is admitted.
//
// Source: https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/#serviceaccount-controller
func (env *environment) awaitServiceAccount(ctx context.Context) error {
	return poll.Until(ctx, "namespace "+env.namespace+" to have its service account", clearLimit,
		func(ctx context.Context) (bool, string, error) {
			_, err := env.client.CoreV1().ServiceAccounts(env.namespace).Get(ctx, "default", metav1.GetOptions{})
			return err == nil, "", err
		})
}

// emptyNamespace deletes the scenario's namespace and returns when its pods and Services are gone: the next scenario
// may want their processors and node ports. It does not wait for the namespace itself, which Kubernetes keeps for at least
// 5 s. All is recorded, so no pod has to end in order any more; once the namespace is going, none is made anew in
// their place. A namespace that another run has made is left alone: ours is gone, or never was.
func (env *environment) emptyNamespace(ctx context.Context) error {
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

// made tells whether this run made a namespace.
func (env *environment) made(n *corev1.Namespace) bool { return n.Annotations[madeBy] == env.run.token }
