package environment

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/klient/k8s"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/image"
)

// addonImage is an add-on whose image the load node holds.
type addonImage struct {
	workloads.Addon
	ref string
}

// loadAddons compiles the add-ons if necessary, and loads their images into the load node, where add-ons run.
func (env *Environment) loadAddons(ctx context.Context) error {
	for _, a := range env.Spec.Addons {
		p := a.Program()
		if env.Compile == nil {
			return fmt.Errorf("compile %s: this run has no compiler", p.Name)
		}
		env.Now(history.Provision, "add-on "+p.Name+" "+p.Version)
		executable, err := env.Compile(ctx, p)
		if err != nil {
			return err
		}
		ref, archive, err := image.BuildAddon(p.Name, executable, filepath.Join(env.CacheDir, "images"))
		if err != nil {
			return err
		}
		if err := env.Cluster.LoadImage(ctx, clusters.Image{Ref: ref, Path: archive, Role: clusters.LoadNode}); err != nil {
			return fmt.Errorf("load %s: %w", ref, err)
		}
		env.addons = append(env.addons, addonImage{a, ref})
	}
	return nil
}

// deployAddons creates the objects of the add-ons, and returns when the add-ons are ready.
func (env *Environment) deployAddons(ctx context.Context) error {
	for _, a := range env.addons {
		objects, err := a.Objects(env.place(a.ref))
		if err != nil {
			return err
		}
		for _, o := range objects {
			if err := env.createAnywhere(ctx, o); err != nil {
				return err
			}
		}
	}
	for _, a := range env.addons {
		if err := env.works(ctx, a.Program().Name); err != nil {
			return err
		}
	}
	return nil
}

// createAnywhere creates an object. An object outside of the namespace is removed by removeOutside. An object that a killed run
// has left is replaced, and an object that holdfast did not create is an error.
func (env *Environment) createAnywhere(ctx context.Context, o workloads.Object) error {
	if o.GetNamespace() == env.namespace {
		return env.create(ctx, o)
	}
	left := o.DeepCopyObject().(workloads.Object)
	err := env.create(ctx, o)
	if apierrors.IsAlreadyExists(err) {
		if err := env.objects.Get(ctx, o.GetName(), o.GetNamespace(), left.(k8s.Object)); err != nil {
			return fmt.Errorf("look at %s: %w", objectName(o), err)
		}
		if left.GetLabels()[workloads.LabelPartOf] != o.GetLabels()[workloads.LabelPartOf] {
			return fmt.Errorf("create %s: it exists already, and holdfast did not create it", objectName(o))
		}
		if err := env.remove(ctx, left); err != nil {
			return err
		}
		err = env.create(ctx, o)
	}
	if err == nil {
		env.outside = append(env.outside, o)
	}
	return err
}

// removeOutside removes the objects that were created outside of the namespace, in reverse order.
func (env *Environment) removeOutside(ctx context.Context) error {
	var errs []error
	for _, o := range slices.Backward(env.outside) {
		errs = append(errs, env.remove(ctx, o))
	}
	env.outside = nil
	return errors.Join(errs...)
}

// remove deletes an object, and returns when it is gone.
func (env *Environment) remove(ctx context.Context, o workloads.Object) error {
	return poll.Until(ctx, objectName(o)+" to be gone", clearLimit, func(ctx context.Context) (bool, string, error) {
		err := env.objects.Delete(ctx, o.(k8s.Object))
		if apierrors.IsNotFound(err) {
			return true, "", nil
		}
		return false, "still there", err
	})
}

func objectName(o workloads.Object) string {
	return o.GetObjectKind().GroupVersionKind().Kind + " " + o.GetName()
}

// works waits until an add-on is available.
func (env *Environment) works(ctx context.Context, name string) error {
	return poll.Until(ctx, "add-on "+name+" to be ready", deployLimit, func(ctx context.Context) (bool, string, error) {
		d, err := env.client.AppsV1().Deployments(env.namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		return d.Status.AvailableReplicas > 0, fmt.Sprintf("%d pods, %d available", d.Status.Replicas, d.Status.AvailableReplicas), nil
	})
}
