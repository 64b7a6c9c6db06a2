package hold

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// partOf is the label, and its value, of all that holdfast creates.
const (
	labelPartOf = "app.kubernetes.io/part-of"
	partOf      = "holdfast"
)

// Home creates a namespace for holdfast's own objects, unless it exists. One of that name that is not holdfast's is an error: it is not used.
func Home(ctx context.Context, client kubernetes.Interface, name string) error {
	home := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		labelPartOf:                                  partOf,
		"pod-security.kubernetes.io/enforce":         "restricted",
		"pod-security.kubernetes.io/enforce-version": "latest",
	}}}
	_, err := client.CoreV1().Namespaces().Create(ctx, home, metav1.CreateOptions{})
	if err == nil {
		return nil
	}
	if !apierrors.IsAlreadyExists(err) && !apierrors.IsForbidden(err) {
		return fmt.Errorf("create namespace %s: %w", name, err)
	}
	there, lost := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	switch {
	case lost != nil && apierrors.IsForbidden(err): // who may neither create nor read it was given it
		return nil
	case lost != nil:
		return fmt.Errorf("create namespace %s: %w", name, err)
	case there.Labels[labelPartOf] != partOf:
		return fmt.Errorf("namespace %s exists, and is not holdfast's: it has no label %s=%s", name, labelPartOf, partOf)
	case there.Status.Phase == corev1.NamespaceTerminating:
		return fmt.Errorf("namespace %s is being deleted: try again when it is gone", name)
	}
	return nil
}

// RemoveHome deletes a namespace of holdfast's own with all that is in it. It deletes no other namespace. It is no error if it is gone.
func RemoveHome(ctx context.Context, client kubernetes.Interface, name string) error {
	there, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil && there.Labels[labelPartOf] != partOf {
		return fmt.Errorf("remove namespace %s: it is not holdfast's: it has no label %s=%s", name, labelPartOf, partOf)
	}
	if err == nil {
		err = client.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &there.UID}})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("remove namespace %s: %w", name, err)
	}
	return nil
}
