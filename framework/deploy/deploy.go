package deploy

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// Deployment is an application on a cluster. Deploy it once and clear it once.
type Deployment struct {
	App     *app.App
	Client  kubernetes.Interface
	Dynamic dynamic.Interface
	Mapper  meta.ResettableRESTMapper
	// Outside is told each object that is not deleted with a namespace.
	Outside func(workloads.Object)
	// Created is called when the objects of a stage exist, and before they are ready.
	Created func(context.Context, app.Stage) error
	// Ready waits for the workloads that are tested, while everything else of the application becomes ready.
	Ready func(context.Context) error
	// Say is told what is done.
	Say func(string)

	defined []app.Manifest // the CustomResourceDefinitions that were created
	dry     []string       // metav1.DryRunAll: nothing is stored
	beside  []app.Manifest // what has pods and becomes ready while hooks run
	pace    pace
	read    sync.Map // of pages, by namespace
}

// New is an application on the cluster of a configuration.
func New(config *rest.Config, a *app.App) (*Deployment, error) {
	d := &Deployment{
		App: a, Outside: func(workloads.Object) {}, Say: func(string) {},
		Created: func(context.Context, app.Stage) error { return nil }, Ready: func(context.Context) error { return nil },
	}
	var err error
	if d.Client, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	if d.Dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	d.Mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds))
	return d, nil
}

// limit is how long a stage may take to become ready, and a hook to end: the default of `helm install --timeout`.
//
// Source: https://helm.sh/docs/helm/helm_install/
const limit = 5 * time.Minute

// Deploy creates the objects of the application stage by stage, and waits for each stage. For the workloads that are tested Ready waits.
func (d *Deployment) Deploy(ctx context.Context) error {
	for i, s := range d.App.Stages() {
		if err := d.stage(ctx, s, i == 0); err != nil {
			return err
		}
	}
	return nil
}

func (d *Deployment) stage(ctx context.Context, s app.Stage, before bool) error {
	kinds, objects := split(s.Objects)
	if err := d.create(ctx, kinds); err != nil {
		return err
	}
	if err := d.await(ctx, kinds); err != nil {
		return err
	}
	if err := d.run(ctx, "pre-install", s.PreInstall); err != nil {
		return err
	}
	if err := d.create(ctx, objects); err != nil {
		return err
	}
	if err := d.Created(ctx, s); err != nil {
		return err
	}
	d.beside = slices.DeleteFunc(slices.Clone(objects), func(m app.Manifest) bool { return !runs(m) })
	if err := d.run(ctx, "post-install", s.PostInstall); err != nil {
		return err
	}
	d.beside = nil
	var awaited []app.Manifest
	for _, m := range objects {
		if before || !d.tested(m) {
			awaited = append(awaited, m)
		}
	}
	if before {
		return d.await(ctx, awaited)
	}
	both, ctx := errgroup.WithContext(ctx) // either may wait for the other, and the first that gives up knows why
	both.Go(func() error { return d.await(ctx, awaited) })
	both.Go(func() error { return d.Ready(ctx) })
	return both.Wait()
}

// split separates definitions of kinds, without which the others cannot be created.
func split(all []app.Manifest) (kinds, others []app.Manifest) {
	for _, m := range all {
		if m.Defines().Kind != "" {
			kinds = append(kinds, m)
		} else {
			others = append(others, m)
		}
	}
	return kinds, others
}

// tested reports whether an object is a workload that the test knows.
func (d *Deployment) tested(m app.Manifest) bool {
	if m.Object.GetNamespace() != d.App.Namespace {
		return false
	}
	for _, w := range d.App.Workloads {
		if w.Kind == m.Object.GetKind() && w.Name == m.Object.GetName() {
			return true
		}
	}
	return false
}

func (d *Deployment) create(ctx context.Context, objects []app.Manifest) error {
	for _, m := range objects {
		if err := d.apply(ctx, m); err != nil {
			return fmt.Errorf("create %s: %w", m, err)
		}
		if m.Defines().Kind != "" {
			d.defined = append(d.defined, m)
		}
	}
	return nil
}
