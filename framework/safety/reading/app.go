package reading

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/holdfast-ha/holdfast/workloads/app"
)

// UnansweredError means that the API server did not answer, or refuses to show the application.
type UnansweredError struct {
	Namespace string
	Err       error
}

func (e *UnansweredError) Error() string {
	return fmt.Sprintf("read the application in namespace %s: %v", e.Namespace, e.Err)
}

func (e *UnansweredError) Unwrap() error { return e.Err }

// App is the application that runs in a namespace: its Deployments, StatefulSets and Services.
func (r Reader) App(ctx context.Context, namespace string) (app.App, error) {
	var manifests []app.Manifest
	add := func(kind, version string, object any) error {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return err
		}
		o := unstructured.Unstructured{Object: fields}
		o.SetKind(kind)
		o.SetAPIVersion(version)
		o.SetManagedFields(nil)
		unstructured.RemoveNestedField(o.Object, "status")
		manifests = append(manifests, app.Manifest{Source: "namespace " + namespace, Object: o})
		return nil
	}
	deployments, err := r.Client.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return app.App{}, &UnansweredError{namespace, err}
	}
	sets, err := r.Client.AppsV1().StatefulSets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return app.App{}, &UnansweredError{namespace, err}
	}
	services, err := r.Client.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return app.App{}, &UnansweredError{namespace, err}
	}
	var errs []error
	for i := range deployments.Items {
		errs = append(errs, add("Deployment", "apps/v1", &deployments.Items[i]))
	}
	for i := range sets.Items {
		errs = append(errs, add("StatefulSet", "apps/v1", &sets.Items[i]))
	}
	for i := range services.Items {
		errs = append(errs, add("Service", "v1", &services.Items[i]))
	}
	if err := errors.Join(errs...); err != nil {
		return app.App{}, fmt.Errorf("read the application in namespace %s: %w", namespace, err)
	}
	if len(deployments.Items)+len(sets.Items) == 0 {
		return app.App{}, fmt.Errorf("namespace %s has no Deployment and no StatefulSet, or does not exist: name that of the application with --namespace", namespace)
	}
	return app.New(manifests, namespace)
}
