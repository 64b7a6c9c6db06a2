package scenario

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
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/poll"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/image"
)

// addonImage is an add-on whose image the load node holds.
type addonImage struct {
	workloads.Addon
	ref string
}

// loadAddons compiles what is not compiled yet, and brings the images into the load node, where add-ons run, unless it
// holds them.
func (st *stage) loadAddons(ctx context.Context) error {
	for _, a := range st.spec.Addons {
		p := a.Program()
		if st.run.settings.Compile == nil {
			return fmt.Errorf("compile %s: this run has no compiler", p.Name)
		}
		st.now(history.Provision, "add-on "+p.Name+" "+p.Version)
		executable, err := st.run.settings.Compile(ctx, p)
		if err != nil {
			return err
		}
		ref, archive, err := image.BuildAddon(p.Name, executable, filepath.Join(st.run.settings.CacheDir, "images"))
		if err != nil {
			return err
		}
		if err := st.cluster.LoadImage(ctx, clusters.Image{Ref: ref, Path: archive, Role: clusters.LoadNode}); err != nil {
			return fmt.Errorf("load %s: %w", ref, err)
		}
		st.addons = append(st.addons, addonImage{a, ref})
	}
	return nil
}

// deployAddons creates all that they consist of, and returns when they work.
func (st *stage) deployAddons(ctx context.Context) error {
	for _, a := range st.addons {
		objects, err := a.Objects(st.place(a.ref))
		if err != nil {
			return err
		}
		for _, o := range objects {
			if err := st.createAnywhere(ctx, o); err != nil {
				return err
			}
		}
	}
	for _, a := range st.addons {
		if err := st.works(ctx, a.Program().Name); err != nil {
			return err
		}
	}
	return nil
}

// createAnywhere also creates what does not go with the namespace, and keeps in mind to remove it. What of it an earlier
// run left that was killed is replaced; what is somebody else's is left alone.
func (st *stage) createAnywhere(ctx context.Context, o workloads.Object) error {
	if o.GetNamespace() == st.namespace {
		return st.create(ctx, o)
	}
	left := o.DeepCopyObject().(workloads.Object)
	err := st.create(ctx, o)
	if apierrors.IsAlreadyExists(err) {
		if err := st.objects.Get(ctx, o.GetName(), o.GetNamespace(), left.(k8s.Object)); err != nil {
			return fmt.Errorf("look at %s: %w", named(o), err)
		}
		if left.GetLabels()[workloads.LabelPartOf] != o.GetLabels()[workloads.LabelPartOf] {
			return fmt.Errorf("create %s: there is one already, and it is not ours", named(o))
		}
		if err := st.remove(ctx, left); err != nil {
			return err
		}
		err = st.create(ctx, o)
	}
	if err == nil {
		st.outside = append(st.outside, o)
	}
	return err
}

// removeOutside removes what was created outside of the namespace, the last first.
func (st *stage) removeOutside(ctx context.Context) error {
	var errs []error
	for _, o := range slices.Backward(st.outside) {
		errs = append(errs, st.remove(ctx, o))
	}
	st.outside = nil
	return errors.Join(errs...)
}

// remove deletes an object and returns when it is gone.
func (st *stage) remove(ctx context.Context, o workloads.Object) error {
	return poll.Until(ctx, named(o)+" to be gone", clearLimit, func(ctx context.Context) (bool, string, error) {
		err := st.objects.Delete(ctx, o.(k8s.Object))
		if apierrors.IsNotFound(err) {
			return true, "", nil
		}
		return false, "still there", err
	})
}

func named(o workloads.Object) string {
	return o.GetObjectKind().GroupVersionKind().Kind + " " + o.GetName()
}

// works waits until the add-on says that it does, by its readiness.
func (st *stage) works(ctx context.Context, name string) error {
	return poll.Until(ctx, "add-on "+name+" to be ready", deployLimit, func(ctx context.Context) (bool, string, error) {
		d, err := st.client.AppsV1().Deployments(st.namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		return d.Status.AvailableReplicas > 0, fmt.Sprintf("%d pods, %d available", d.Status.Replicas, d.Status.AvailableReplicas), nil
	})
}
