package hold

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const (
	// labelPartOf is the label, and partOf its value, of all that holdfast creates.
	labelPartOf = "app.kubernetes.io/part-of"
	partOf      = "holdfast"
	// madeKey is an annotation of a namespace that holdfast has created, and may delete. One that an administrator has created for holdfast has
	// none, and stays.
	madeKey = "holdfast.dev/made"
	// ExpiresKey is an annotation of a namespace that holdfast has created: from then on (RFC 3339) a heal deletes it.
	ExpiresKey = "holdfast.dev/expires"
	// LoadPrefix begins the names of such namespaces. No namespace can be renamed, so that one of another owner is not taken for one by its labels.
	LoadPrefix = "holdfast-load-"
)

// Expiring are the annotations of a namespace that holdfast creates, and that a heal deletes from some time on.
func Expiring(from time.Time) map[string]string {
	return map[string]string{madeKey: "true", ExpiresKey: from.UTC().Format(time.RFC3339)}
}

// Home creates a namespace for holdfast's own objects, unless it exists. One of that name that is not holdfast's is an error: it is not used. Where an
// administrator has made it, nothing is written, not even in vain: audit logs have refused requests, too.
func Home(ctx context.Context, client kubernetes.Interface, name string) error {
	there, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	if err == nil {
		return usable(there)
	}
	if !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
		return fmt.Errorf("read namespace %s: %w", name, err)
	}
	home := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{madeKey: "true"}, Labels: map[string]string{
		labelPartOf:                                  partOf,
		"pod-security.kubernetes.io/enforce":         "restricted",
		"pod-security.kubernetes.io/enforce-version": "latest",
	}}}
	_, refused := client.CoreV1().Namespaces().Create(ctx, home, metav1.CreateOptions{})
	switch {
	case refused == nil, apierrors.IsForbidden(err) && apierrors.IsForbidden(refused): // who may neither read nor create it was given it
		return nil
	case apierrors.IsAlreadyExists(refused) && apierrors.IsNotFound(err): // another process was faster
		if there, err = client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{}); err == nil {
			return usable(there)
		}
		return fmt.Errorf("read namespace %s: %w", name, err)
	}
	return fmt.Errorf("create namespace %s: %w", name, refused)
}

// usable returns an error for a namespace that is not holdfast's to use.
func usable(n *corev1.Namespace) error {
	switch {
	case n.Labels[labelPartOf] != partOf:
		return fmt.Errorf("namespace %s exists, and is not holdfast's: it has no label %s=%s", n.Name, labelPartOf, partOf)
	case n.Status.Phase == corev1.NamespaceTerminating:
		return fmt.Errorf("namespace %s is being deleted: try again when it is gone", n.Name)
	}
	return nil
}

// RemoveHome deletes a namespace that holdfast has created, with all that is in it. It is false if the namespace is not holdfast's to delete, or is
// gone.
func RemoveHome(ctx context.Context, client kubernetes.Interface, name string) (bool, error) {
	there, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("remove namespace %s: %w", name, err)
	}
	if !removable(there) {
		return false, nil
	}
	return true, removeNamespace(ctx, client, there)
}

// IsHome reports whether a namespace is one that RemoveHome would delete. It is false for a user who must not read it.
func IsHome(ctx context.Context, client kubernetes.Interface, name string) (bool, error) {
	there, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read namespace %s: %w", name, err)
	}
	return removable(there), nil
}

func removable(n *corev1.Namespace) bool {
	return n.Annotations[madeKey] != "" && n.Labels[labelPartOf] == partOf && n.Status.Phase != corev1.NamespaceTerminating
}

// RemoveExpired deletes the namespaces of holdfast's whose time has passed, and returns their names.
func RemoveExpired(ctx context.Context, client kubernetes.Interface, now time.Time) (removed []string, err error) {
	var errs []error
	for _, n := range expired(ctx, client, now, &errs) {
		if err := removeNamespace(ctx, client, &n); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, n.Name)
	}
	return removed, errors.Join(errs...)
}

// Expired names the namespaces that RemoveExpired would delete.
func Expired(ctx context.Context, client kubernetes.Interface, now time.Time) (names []string, err error) {
	var errs []error
	for _, n := range expired(ctx, client, now, &errs) {
		names = append(names, n.Name)
	}
	return names, errors.Join(errs...)
}

// expired lists the namespaces that holdfast has created, and whose time has passed. A user who must not list namespaces has none.
func expired(ctx context.Context, client kubernetes.Interface, now time.Time, errs *[]error) (all []corev1.Namespace) {
	list, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{LabelSelector: labelPartOf + "=" + partOf})
	if err != nil && !apierrors.IsForbidden(err) {
		*errs = append(*errs, fmt.Errorf("look for namespaces whose time has passed: %w", err))
	}
	if err != nil {
		return nil
	}
	for _, n := range list.Items {
		text, is := n.Annotations[ExpiresKey]
		if !is || !removable(&n) || !strings.HasPrefix(n.Name, LoadPrefix) {
			continue
		}
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			*errs = append(*errs, fmt.Errorf("namespace %s: its annotation %s is no time: %w", n.Name, ExpiresKey, err))
			continue
		}
		if now.After(at) {
			all = append(all, n)
		}
	}
	return all
}

// removeNamespace deletes exactly this namespace.
func removeNamespace(ctx context.Context, client kubernetes.Interface, n *corev1.Namespace) error {
	err := client.CoreV1().Namespaces().Delete(ctx, n.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &n.UID}})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("remove namespace %s: %w", n.Name, err)
	}
	return nil
}
