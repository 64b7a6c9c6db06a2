package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/e2e-framework/klient/k8s/resources"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/load/collect"
	"github.com/holdfast-ha/holdfast/framework/observe"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/gateway"
)

// Limits of setting a scenario up and taking it down. Measured on two cores: 7 s to deploy, 8 s to delete.
const (
	deployLimit = 2 * time.Minute
	clearLimit  = 2 * time.Minute
)

// stage is what one scenario is played on: its namespace, workloads, watches and load. It is built once and cleared
// once.
type stage struct {
	run       *run
	spec      Spec
	cluster   clusters.Cluster
	writer    *history.Writer
	namespace string
	backend   string // the Deployment under test; of trials, the first
	image     string // that all pods run, but those of add-ons
	addons    []addonImage
	outside   []workloads.Object // what was created outside of the namespace, and does not go with it
	gone      func()             // tells whoever interrupts that the namespace is; nil: there was none

	client  kubernetes.Interface
	config  *rest.Config // of what creates and disturbs: what the API server warns of then is in the record
	objects *resources.Resources
	watcher *observe.Watcher
	load    sessions // of each load worker
	// What the gateway had counted when it was ready for the load, and where it tells; empty without one.
	gatewayBefore gateway.Stats
	gatewayStats  string
}

// build deploys everything and returns when the workload has settled.
func (st *stage) build(ctx context.Context) error {
	if err := st.connect(); err != nil {
		return err
	}
	if err := st.loadImage(ctx); err != nil {
		return err
	}
	if err := st.loadAddons(ctx); err != nil {
		return err
	}
	st.now(history.Deploy, "")
	if err := st.writer.Append(history.Event{T: st.writer.Now(), Phase: &history.Phase{Name: history.Deploy}}); err != nil {
		return err
	}
	if err := st.makeNamespace(ctx); err != nil {
		return err
	}
	// Before the first pod exists: every binding and every change of it is in the record.
	watcher, err := observe.Start(context.WithoutCancel(ctx), st.client, st.namespace, st.writer)
	if err != nil {
		return fmt.Errorf("watch the cluster: %w", err)
	}
	st.watcher = watcher
	return st.deploy(ctx)
}

func (st *stage) connect() error {
	client, err := kubernetes.NewForConfig(st.cluster.Config())
	if err != nil { // st.client stays nil: a nil *Clientset in it would not be
		return fmt.Errorf("connect to cluster %s: %w", st.cluster.Name(), err)
	}
	st.client, st.config = client, observe.RecordWarnings(st.cluster.Config(), st.writer)
	if st.objects, err = resources.New(st.config); err != nil {
		return fmt.Errorf("connect to cluster %s: %w", st.cluster.Name(), err)
	}
	return nil
}

// perform lets the load flow, plays, and collects the results.
func (st *stage) perform(ctx context.Context) error {
	target, err := st.target(st.config)
	if err != nil {
		return err
	}
	for _, f := range st.spec.Faults {
		if f, must := f.(fault.Prepared); must {
			if err := f.Prepare(ctx, target); err != nil {
				return fmt.Errorf("prepare: %s: %w", f, err)
			}
		}
	}
	if err := st.startLoad(ctx); err != nil {
		return err
	}
	if len(st.load) > 0 {
		target.Answered = st.load.answered
	}
	spec := st.spec
	spec.Faults = spec.faults()
	p := &play{spec: spec, target: target, record: st.writer, tell: st.now, leave: st.run.settings.LeaveBroken,
		hold: st.run.pool.hold, interrupt: st.run.settings.Interrupt}
	return p.run(ctx)
}

// startLoad gives each load worker its part of the plan. It returns when their first requests are on their way.
func (st *stage) startLoad(ctx context.Context) error {
	if len(st.spec.Load) == 0 {
		return nil
	}
	plan, err := st.plan(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(plan.Lanes, func(l load.Lane) bool { return l.Target != "" }) {
		if err := st.listening(ctx); err != nil {
			return err
		}
	}
	for _, l := range plan.Lanes {
		if l.Target != "" {
			if err := st.serving(ctx, l.Target); err != nil {
				return err
			}
		}
	}
	config := rest.CopyConfig(st.cluster.Config())
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return fmt.Errorf("reach the load worker: %w", err)
	}
	pods := st.loadWorkers().PodNames()
	part := partOf(plan, len(pods))
	for _, pod := range pods {
		// The session must outlive an interrupted scenario: what was sent has to be collected.
		one, err := collect.Start(context.WithoutCancel(ctx), client, st.workerURL(config.Host, pod), part, st.writer)
		if err != nil {
			return fmt.Errorf("start the load of %s: %w", pod, err)
		}
		st.load = append(st.load, one)
	}
	st.run.settings.Progress.loading(st.load.totals)
	return nil
}

// collect stops the load and the watches, so that all they saw is in the record. Doing it after half a build is fine.
func (st *stage) collect(ctx context.Context) error {
	var errs []error
	st.now(history.Drained, "collecting the results")
	errs = append(errs, st.writer.Append(history.Event{T: st.writer.Now(), Phase: &history.Phase{Name: history.Drained}}))
	if len(st.load) > 0 {
		errs = append(errs, st.load.stop(ctx), st.noteGateway(ctx))
	}
	st.run.settings.Progress.loading(nil)
	if st.watcher != nil {
		errs = append(errs, st.watcher.Stop())
	}
	for i, err := range errs {
		if err != nil {
			errs[i] = joined(err, st.writer.Append(trouble(st.writer, err)))
		}
	}
	return joined(errs...)
}

// clear removes what the scenario made, and says whether the next one finds the cluster as this one did.
func (st *stage) clear(ctx context.Context) error {
	if st.client == nil {
		return nil
	}
	// Before the namespace: one that goes while an API has no server any more stays for good.
	if err := errors.Join(st.removeOutside(ctx), st.emptyNamespace(ctx)); err != nil {
		return err
	}
	return st.intact(ctx)
}

func (st *stage) now(phase history.PhaseName, doing string) {
	st.run.settings.Progress.now(phase, doing)
}
