package scenario

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/framework/interrupt"
	"github.com/holdfast-ha/holdfast/framework/poll"
	"github.com/holdfast-ha/holdfast/workloads"
)

// madeBy is the annotation of a namespace that says which run made it: no other run removes it.
const madeBy = "holdfast.dev/made-by"

// makeNamespace makes the scenario's namespace, once the one of an earlier run on the same cluster is gone. One that
// nobody has deleted is left alone: somebody may be using it.
func (st *stage) makeNamespace(ctx context.Context) error {
	var inUse error
	wanted := workloads.Namespace(st.namespace)
	wanted.Annotations = map[string]string{madeBy: st.run.token}
	st.gone = st.run.settings.Interrupt.Add(interrupt.Pending{
		Undo: "remove namespace " + st.namespace, Done: "namespace " + st.namespace + " is removed",
	})
	err := poll.Until(ctx, "namespace "+st.namespace+" of an earlier run to be gone", clearLimit,
		func(ctx context.Context) (done bool, saw string, err error) {
			err = st.create(ctx, wanted.DeepCopy())
			if !apierrors.IsAlreadyExists(err) {
				return err == nil, "", err
			}
			old, err := st.client.CoreV1().Namespaces().Get(ctx, st.namespace, metav1.GetOptions{})
			if err != nil {
				return false, "", err
			}
			if st.made(old) && old.Status.Phase != corev1.NamespaceTerminating { // the answer to an earlier try never came
				return true, "", nil
			}
			if old.Status.Phase != corev1.NamespaceTerminating {
				inUse = fmt.Errorf("namespace %s is there already, and this run has not made it: a run that was killed has left it, "+
					"or another program uses it; 'holdfast heal %s' removes it", st.namespace, st.cluster.Name())
			}
			return inUse != nil, string(old.Status.Phase), nil
		})
	if err := errors.Join(err, inUse); err != nil {
		return err
	}
	return st.awaitServiceAccount(ctx)
}

// awaitServiceAccount waits for the service account of pods that name none: the controller manager makes it, which may just have
// lost its lead with an API server, and until then no pod is admitted.
//
// Source: https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/#serviceaccount-controller
func (st *stage) awaitServiceAccount(ctx context.Context) error {
	return poll.Until(ctx, "namespace "+st.namespace+" to have its service account", clearLimit,
		func(ctx context.Context) (bool, string, error) {
			_, err := st.client.CoreV1().ServiceAccounts(st.namespace).Get(ctx, "default", metav1.GetOptions{})
			return err == nil, "", err
		})
}

// emptyNamespace deletes the scenario's namespace and returns when its pods and Services are gone: the next scenario
// may want their processors and node ports. It does not wait for the namespace itself, which Kubernetes keeps for at least
// 5 s. All is recorded, so no pod has to end in order any more; once the namespace is going, none is made anew in
// their place. A namespace that another run has made is left alone: ours is gone, or never was.
func (st *stage) emptyNamespace(ctx context.Context) error {
	there, err := st.client.CoreV1().Namespaces().Get(ctx, st.namespace, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		err = nil
	case err != nil:
		return fmt.Errorf("look at namespace %s: %w", st.namespace, err)
	case st.made(there):
		err = st.emptyThis(ctx, there)
	}
	if err == nil && st.gone != nil {
		st.gone()
	}
	return err
}

// made tells whether this run made a namespace.
func (st *stage) made(n *corev1.Namespace) bool { return n.Annotations[madeBy] == st.run.token }

// emptyThis deletes exactly this namespace: one of the same name that is made later is another's.
//
// Source: namespaceDeletionGracePeriod in k8s.io/kubernetes/pkg/controller/namespace
func (st *stage) emptyThis(ctx context.Context, there *corev1.Namespace) error {
	only := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &there.UID}}
	err := st.client.CoreV1().Namespaces().Delete(ctx, there.Name, only)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete namespace %s: %w", there.Name, err)
	}
	return poll.Until(ctx, "namespace "+there.Name+" to be empty", clearLimit, st.emptied)
}

// emptied deletes what is left, and tells whether nothing is any more. It looks again at once: pods that are given no time
// to end go with the call that deletes them.
func (st *stage) emptied(ctx context.Context) (done bool, saw string, err error) {
	services, pods, err := st.left(ctx)
	if err != nil || len(services)+pods == 0 {
		return err == nil, "", err
	}
	var errs []error
	for _, name := range services {
		if err := st.client.CoreV1().Services(st.namespace).Delete(ctx, name, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
			errs = append(errs, err)
		}
	}
	atOnce := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	errs = append(errs, st.client.CoreV1().Pods(st.namespace).DeleteCollection(ctx, atOnce, metav1.ListOptions{}))
	services, pods, err = st.left(ctx)
	if err != nil { // nothing was seen
		return false, "", errors.Join(append(errs, err)...)
	}
	return len(services)+pods == 0, fmt.Sprintf("%d pods, %d Services", pods, len(services)), errors.Join(errs...)
}

// left names the Services that are still in the namespace, and counts its pods.
func (st *stage) left(ctx context.Context) (services []string, pods int, err error) {
	core := st.client.CoreV1()
	list, err := core.Services(st.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, 0, err
	}
	for _, s := range list.Items {
		services = append(services, s.Name)
	}
	all, err := core.Pods(st.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, 0, err
	}
	return services, len(all.Items), nil
}
