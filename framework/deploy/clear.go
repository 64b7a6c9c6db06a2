package deploy

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

const (
	// finalLimit is how long a controller may take to finalize its objects.
	finalLimit = 30 * time.Second
	// goneLimit is how long objects without finalizers may take to be gone.
	goneLimit = 30 * time.Second
)

// Clear removes the objects of the kinds that the application has defined, while the controllers that finalize them still run: otherwise
// their namespaces, and the definitions, could never be removed. Where a controller does not finalize an object, its finalizers are taken
// off, because nothing of it is kept.
func (d *Deployment) Clear(ctx context.Context) error {
	for i := len(d.defined) - 1; i >= 0; i-- {
		kind, served := resourceOf(d.defined[i])
		if !served {
			continue
		}
		if d.gone(ctx, kind, finalLimit) == nil {
			continue
		}
		if err := d.release(ctx, kind); err != nil {
			return err
		}
		if err := d.gone(ctx, kind, goneLimit); err != nil {
			return err
		}
	}
	d.defined = nil
	return nil
}

// resourceOf is the resource that a CustomResourceDefinition serves.
func resourceOf(m app.Manifest) (r schema.GroupVersionResource, served bool) {
	r.Group = m.Defines().Group
	r.Resource, _, _ = unstructured.NestedString(m.Object.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(m.Object.Object, "spec", "versions")
	for _, one := range versions {
		if v, _ := one.(map[string]any); v["served"] == true {
			r.Version, _ = v["name"].(string)
			return r, true
		}
	}
	return r, false
}

// gone deletes all objects of a kind, and returns when none is left.
func (d *Deployment) gone(ctx context.Context, kind schema.GroupVersionResource, most time.Duration) error {
	return poll.Until(ctx, "the "+kind.GroupResource().String()+" of the application to be gone", most, func(ctx context.Context) (bool, string, error) {
		list, err := d.Dynamic.Resource(kind).List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) { // the definition is gone, and its objects with it
			return true, "", nil
		}
		if err != nil {
			return false, "", err
		}
		var names []string
		for _, o := range list.Items {
			names = append(names, o.GetName())
			err := d.Dynamic.Resource(kind).Namespace(o.GetNamespace()).Delete(ctx, o.GetName(), metav1.DeleteOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				return false, "", err
			}
		}
		return len(names) == 0, strings.Join(names, ", "), nil
	})
}

// release takes the finalizers off all objects of a kind.
func (d *Deployment) release(ctx context.Context, kind schema.GroupVersionResource) error {
	list, err := d.Dynamic.Resource(kind).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list %s: %w", kind.GroupResource(), err)
	}
	for _, o := range list.Items {
		_, err := d.Dynamic.Resource(kind).Namespace(o.GetNamespace()).Patch(ctx, o.GetName(), types.MergePatchType,
			[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{FieldManager: FieldManager})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("take the finalizers off %s %s: %w", kind.GroupResource(), o.GetName(), err)
		}
	}
	return nil
}
