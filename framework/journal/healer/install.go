package healer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/framework/hold"
	"github.com/holdfast-ha/holdfast/framework/poll"
	"github.com/holdfast-ha/holdfast/workloads"
)

// readyLimit bounds how long the pods of a healer may take to be ready: a node may have to pull the image.
const readyLimit = 3 * time.Minute

// Install creates a healer, and returns when both of its pods are ready: before that, nothing should be changed that it is to undo. What was created
// is removed again if that fails. A healer of another run is an error.
func Install(ctx context.Context, client kubernetes.Interface, untyped dynamic.Interface, h workloads.Healer, at workloads.Place) error {
	objects, err := h.Objects(at)
	if err != nil {
		return err
	}
	if err := hold.Home(ctx, client, at.Namespace); err != nil {
		return fmt.Errorf("install the healer: %w", err)
	}
	for _, o := range objects {
		if err = create(ctx, untyped, o); err != nil {
			break
		}
	}
	if err == nil {
		err = awaitReady(ctx, client, at.Namespace)
	}
	if err != nil {
		_, left := Remove(context.WithoutCancel(ctx), untyped, h.Run)
		return errors.Join(fmt.Errorf("install the healer: %w", err), left)
	}
	return nil
}

// kinds are the resources of which a healer consists, in the order in which they are removed: the pods first, and then what they may do.
var kinds = []schema.GroupVersionResource{
	appsv1.SchemeGroupVersion.WithResource("deployments"),
	policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets"),
	rbacv1.SchemeGroupVersion.WithResource("rolebindings"),
	rbacv1.SchemeGroupVersion.WithResource("roles"),
	rbacv1.SchemeGroupVersion.WithResource("clusterrolebindings"),
	rbacv1.SchemeGroupVersion.WithResource("clusterroles"),
	corev1.SchemeGroupVersion.WithResource("serviceaccounts"),
}

func create(ctx context.Context, untyped dynamic.Interface, o workloads.Object) error {
	kind := o.GetObjectKind().GroupVersionKind()
	i := slices.IndexFunc(kinds, func(k schema.GroupVersionResource) bool { return k.Resource == strings.ToLower(kind.Kind)+"s" })
	if i < 0 {
		return fmt.Errorf("create %s %s: no healer consists of it", kind.Kind, o.GetName())
	}
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err == nil {
		u := &unstructured.Unstructured{Object: raw}
		unstructured.RemoveNestedField(u.Object, "status")
		_, err = in(untyped, kinds[i], o.GetNamespace()).Create(ctx, u, metav1.CreateOptions{FieldManager: "holdfast"})
	}
	if err != nil {
		return fmt.Errorf("create %s %s: %w", kind.Kind, o.GetName(), err)
	}
	return nil
}

// in is a resource of a namespace; empty: of the cluster.
func in(untyped dynamic.Interface, kind schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return untyped.Resource(kind)
	}
	return untyped.Resource(kind).Namespace(namespace)
}

func awaitReady(ctx context.Context, client kubernetes.Interface, namespace string) error {
	return poll.Until(ctx, "both pods of the healer to be ready", readyLimit, func(ctx context.Context) (bool, string, error) {
		d, err := client.AppsV1().Deployments(namespace).Get(ctx, Command, metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		return d.Status.ReadyReplicas == *d.Spec.Replicas && d.Status.ObservedGeneration >= d.Generation,
			fmt.Sprintf("%d of %d ready", d.Status.ReadyReplicas, *d.Spec.Replicas), nil
	})
}

// Remove removes the healer of a run, or with an empty name all healers. Only what carries the labels of a healer is removed. It is no error if there
// is none. What this user must not look for is in the error, with the command that removes it.
func Remove(ctx context.Context, untyped dynamic.Interface, run string) (removed []string, err error) {
	selector := workloads.LabelPartOf + "=" + workloads.PartOf + "," + workloads.LabelComponent + "=" + workloads.ComponentHealer
	if run != "" {
		selector += "," + workloads.LabelRun + "=" + run
	}
	var errs []error
	for _, kind := range kinds {
		list, err := untyped.Resource(kind).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			errs = append(errs, fmt.Errorf("remove the healer: look for its %s: %w: 'kubectl delete %s --all-namespaces --selector %s' removes them", kind.Resource, err, kind.Resource, selector))
			continue
		}
		for _, o := range list.Items {
			uid := o.GetUID()
			only := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: new(metav1.DeletePropagationBackground)}
			if err := in(untyped, kind, o.GetNamespace()).Delete(ctx, o.GetName(), only); err != nil && !apierrors.IsNotFound(err) {
				errs = append(errs, fmt.Errorf("remove the healer: delete %s %s: %w", o.GetKind(), o.GetName(), err))
				continue
			}
			removed = append(removed, o.GetKind()+" "+o.GetName())
		}
	}
	return removed, errors.Join(errs...)
}
