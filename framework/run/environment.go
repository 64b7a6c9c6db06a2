package run

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
	"github.com/holdfast-ha/holdfast/framework/restore"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/gateway"
)

// Limits of setting a scenario up and taking it down. Measured on two cores: 7 s to deploy, 8 s to delete.
const (
	deployLimit = 2 * time.Minute
	clearLimit  = 2 * time.Minute
)

// environment is what a scenario runs in: its namespace, workloads, watches and load. It is built once and cleared once.
type environment struct {
	run       *runner
	spec      scenario.Spec
	cluster   clusters.Cluster
	writer    *history.Writer
	namespace string
	backend   string // the Deployment under test; of trials, the first
	image     string // that all pods run, but those of add-ons
	addons    []addonImage
	outside   []workloads.Object // objects outside of the namespace, which are not deleted with it
	gone      func()             // reports to Settings.Interrupt that the namespace is removed; nil: there was none

	client      kubernetes.Interface
	config      *rest.Config // of all that creates and disrupts: it records the API server's warnings
	objects     *resources.Resources
	watcher     *observe.Watcher
	load        sessions     // of each load worker
	faultTarget fault.Target // set by prepare
	// What the gateway had counted when it was ready for the load, and the URL of its counts; empty without a gateway.
	gatewayBefore gateway.Stats
	gatewayStats  string
}

// build deploys everything and returns when the workload has settled.
func (env *environment) build(ctx context.Context) error {
	if err := env.connect(); err != nil {
		return err
	}
	if err := env.loadImage(ctx); err != nil {
		return err
	}
	if err := env.loadAddons(ctx); err != nil {
		return err
	}
	env.now(history.Deploy, "")
	if err := env.writer.Append(history.Event{T: env.writer.Now(), Phase: &history.Phase{Name: history.Deploy}}); err != nil {
		return err
	}
	if err := env.makeNamespace(ctx); err != nil {
		return err
	}
	// Before the first pod exists: every binding and every change of it is in the record.
	watcher, err := observe.Start(context.WithoutCancel(ctx), env.client, env.namespace, env.writer)
	if err != nil {
		return fmt.Errorf("watch the cluster: %w", err)
	}
	env.watcher = watcher
	return env.createWorkload(ctx)
}

func (env *environment) connect() error {
	client, err := kubernetes.NewForConfig(env.cluster.Config())
	if err != nil { // env.client stays nil: a nil *Clientset in it would not be
		return fmt.Errorf("connect to cluster %s: %w", env.cluster.Name(), err)
	}
	env.client, env.config = client, observe.RecordWarnings(env.cluster.Config(), env.writer)
	if env.objects, err = resources.New(env.config); err != nil {
		return fmt.Errorf("connect to cluster %s: %w", env.cluster.Name(), err)
	}
	return nil
}

// prepare lets the faults prepare themselves, before any load flows.
func (env *environment) prepare(ctx context.Context) error {
	target, err := env.target(env.config)
	if err != nil {
		return err
	}
	for _, f := range env.spec.Faults {
		if f, must := f.(fault.Prepared); must {
			if err := f.Prepare(ctx, target); err != nil {
				return fmt.Errorf("prepare: %s: %w", f, err)
			}
		}
	}
	env.faultTarget = target
	return nil
}

// perform lets load flow while the faults are injected and reverted.
func (env *environment) perform(ctx context.Context) error {
	spec, target := env.spec, env.faultTarget
	if len(env.load) > 0 {
		target.Answered = env.load.answered
	}
	spec.Faults = faultsOf(spec)
	p := &play{spec: spec, target: target, record: env.writer, tell: env.now, leave: env.run.settings.LeaveBroken,
		hold: env.run.pool.hold, interrupt: env.run.settings.Interrupt}
	return p.run(ctx)
}

// startLoad gives each load worker its share of the plan. It returns when every worker has sent its first requests.
func (env *environment) startLoad(ctx context.Context) error {
	if len(env.spec.Load) == 0 {
		return nil
	}
	plan, err := env.plan(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(plan.Lanes, func(l load.Lane) bool { return l.Target != "" }) {
		if err := env.listening(ctx); err != nil {
			return err
		}
	}
	for _, l := range plan.Lanes {
		if l.Target != "" {
			if err := env.serving(ctx, l.Target); err != nil {
				return err
			}
		}
	}
	config := rest.CopyConfig(env.cluster.Config())
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return fmt.Errorf("reach the load worker: %w", err)
	}
	pods := env.loadWorkers().PodNames()
	part := partOf(plan, len(pods))
	for _, pod := range pods {
		// The session must outlive an interrupted scenario, because all sent requests have to be collected.
		one, err := collect.Start(context.WithoutCancel(ctx), client, env.workerURL(config.Host, pod), part, env.writer)
		if err != nil {
			return fmt.Errorf("start the load of %s: %w", pod, err)
		}
		env.load = append(env.load, one)
	}
	env.run.settings.Progress.loading(env.load.totals)
	return nil
}

// collect stops the load and the watches, and records all they saw. It may follow an incomplete build.
func (env *environment) collect(ctx context.Context) error {
	var errs []error
	env.now(history.Drained, "collecting the results")
	errs = append(errs, env.writer.Append(history.Event{T: env.writer.Now(), Phase: &history.Phase{Name: history.Drained}}))
	if len(env.load) > 0 {
		errs = append(errs, env.load.stop(ctx), env.noteGateway(ctx))
	}
	env.run.settings.Progress.loading(nil)
	if env.watcher != nil {
		errs = append(errs, env.watcher.Stop())
	}
	for i, err := range errs {
		if err != nil {
			errs[i] = joined(err, env.writer.Append(harnessError(env.writer, err)))
		}
	}
	return joined(errs...)
}

// clear removes what the scenario created. It returns an error unless the next scenario finds the cluster as this one did.
func (env *environment) clear(ctx context.Context) error {
	if env.client == nil {
		return nil
	}
	// Before the namespace: a namespace that is deleted while an aggregated API has no server stays Terminating.
	if err := errors.Join(env.removeOutside(ctx), env.emptyNamespace(ctx)); err != nil {
		return err
	}
	return restore.AwaitIntact(ctx, env.client, env.cluster)
}

func (env *environment) now(phase history.PhaseName, doing string) {
	env.run.settings.Progress.now(phase, doing)
}
