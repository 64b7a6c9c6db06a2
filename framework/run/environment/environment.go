// Package environment deploys what a scenario runs in: its namespace, backend, gateway, add-ons and load workers, with the watches
// that record them. It starts the load, collects the results, and removes everything.
//
// It injects no fault and judges nothing. See package run.
package environment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/e2e-framework/klient/k8s/resources"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/interrupt"
	"github.com/holdfast-ha/holdfast/framework/deploy"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/noise"
	"github.com/holdfast-ha/holdfast/framework/load/collect"
	"github.com/holdfast-ha/holdfast/framework/observe"
	"github.com/holdfast-ha/holdfast/framework/run/restore"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/gateway"
)

// Limits of setting a scenario up and taking it down. Measured on two cores: 7 s to deploy, 8 s to delete.
const (
	deployLimit = 2 * time.Minute
	clearLimit  = 2 * time.Minute
)

// Options are what a scenario needs of its run.
type Options struct {
	Spec    scenario.Spec
	Cluster clusters.Cluster
	Writer  *history.Writer
	Seed    uint64 // of the run
	Token   string // marks the namespace as that of this run
	// Image is this executable as an image. Compile returns the path of an add-on's executable, whose image is kept in CacheDir.
	Image    func() (clusters.Image, error)
	Compile  func(ctx context.Context, p workloads.Program) (path string, err error)
	CacheDir string
	// Interrupt is told what has to be removed; it may be nil.
	Interrupt *interrupt.Process
	// Now is called with each step, and Loading with the counts of the load, or with nil when no load flows.
	Now     func(phase history.PhaseName, doing string)
	Loading func(totals func() (sent, failed uint64))
}

// Environment is what a scenario runs in: its namespace, workloads, watches and load. Build it once and clear it once.
type Environment struct {
	Options
	namespace string
	backend   string // the Deployment under test; with trials, the first
	image     string // of all pods but those of add-ons
	addons    []addonImage
	outside   []workloads.Object // objects outside of the namespace, which are not deleted with it
	volumes   bool               // the application's volumes are made by an add-on
	deployed  *deploy.Deployment // the application of the user's own; nil: there is none
	orders    string             // the token with which the load workers are called
	loads     []string           // the namespace of the load workers; none: the scenario has no load
	further   []string           // the namespaces that were created for its objects in addition to the scenario's
	gone      map[string]func()  // reports to Interrupt that a namespace is removed, by its name

	pods    *podNames // of an application of the user's own; nil: the backend names its pods itself
	client  kubernetes.Interface
	config  *rest.Config // of all that creates and disrupts: it records the API server's warnings
	objects *resources.Resources
	watcher *observe.Watcher
	load    *collect.Session // nil: no load flows

	faultTarget fault.Target // set by Prepare
	// What the gateway had counted when it was ready for the load, and the URL of its counts; empty without a gateway.
	gatewayBefore gateway.Stats
	gatewayStats  string
}

// New is the environment of a scenario. Nothing is created yet.
func New(o Options) *Environment {
	env := &Environment{Options: o, namespace: o.Spec.Namespace(), backend: o.Spec.Controllers()[0].Name, orders: collect.NewToken(), gone: map[string]func(){}}
	if o.Spec.App != nil {
		env.pods = &podNames{Writer: o.Writer}
	}
	return env
}

// sink is where events and requests are recorded.
func (env *Environment) sink() sink {
	if env.pods != nil {
		return env.pods
	}
	return env.Writer
}

// sink takes what the watches and the load workers report.
type sink interface {
	observe.Sink
	collect.Sink
}

// Build deploys everything, and returns when the workload has settled.
func (env *Environment) Build(ctx context.Context) error {
	if err := env.connect(); err != nil {
		return err
	}
	if err := env.loadImage(ctx); err != nil {
		return err
	}
	if env.Spec.App != nil {
		if err := errors.Join(env.serveAppImages(ctx), env.provideStorage(ctx)); err != nil {
			return err
		}
	}
	if err := env.loadAddons(ctx); err != nil {
		return err
	}
	env.Now(history.Deploy, "")
	if err := env.Writer.Append(history.Event{T: env.Writer.Now(), Phase: &history.Phase{Name: history.Deploy}}); err != nil {
		return err
	}
	if err := env.makeNamespace(ctx); err != nil {
		return err
	}
	// Before the first pod exists: every binding and every change of it is in the record.
	// The first namespace is where the harness writes, to see how late watches are: not in that of the application, if there is another.
	scope := observe.Scope{Namespaces: append(slices.Clone(env.loads), env.namespace), Nodes: env.containers(ctx)}
	watcher, err := observe.Start(context.WithoutCancel(ctx), env.client, scope, env.sink())
	if err != nil {
		return fmt.Errorf("watch the cluster: %w", err)
	}
	env.watcher = watcher
	return env.createWorkload(ctx)
}

// containers are those of the nodes; nil if nodes are no containers.
func (env *Environment) containers(ctx context.Context) *noise.Nodes {
	c, are := env.Cluster.(interface {
		Containers(ctx context.Context) (map[string]string, error)
	})
	if !are {
		return nil
	}
	ids, err := c.Containers(ctx)
	if err != nil {
		return &noise.Nodes{Unknown: err.Error()}
	}
	return &noise.Nodes{IDs: ids}
}

func (env *Environment) connect() error {
	client, err := kubernetes.NewForConfig(env.Cluster.Config())
	if err != nil { // env.client stays nil: a nil *Clientset in it would not be
		return fmt.Errorf("connect to cluster %s: %w", env.Cluster.Name(), err)
	}
	env.client, env.config = client, observe.RecordWarnings(env.Cluster.Config(), env.Writer)
	if env.objects, err = resources.New(env.config); err != nil {
		return fmt.Errorf("connect to cluster %s: %w", env.Cluster.Name(), err)
	}
	return nil
}

// Prepare lets the faults prepare themselves, before any load flows.
func (env *Environment) Prepare(ctx context.Context) error {
	target, err := env.target(env.config)
	if err != nil {
		return err
	}
	for _, f := range env.Spec.Faults {
		if f, must := f.(fault.Prepared); must {
			if err := f.Prepare(ctx, target); err != nil {
				return fmt.Errorf("prepare: %s: %w", f, err)
			}
		}
	}
	env.faultTarget = target
	return nil
}

// Target is what the scenario's faults may disrupt, after Prepare.
func (env *Environment) Target() fault.Target {
	target := env.faultTarget
	if env.load != nil && env.Spec.Simulated == nil { // no client talks to a simulated pod
		target.Answered = env.answered
	}
	return target
}

// Collect stops the load and the watches, and records all they saw and each error. It may follow an incomplete Build.
func (env *Environment) Collect(ctx context.Context) (errs []error) {
	env.Now(history.Drained, "collecting the results")
	errs = append(errs, env.Writer.Append(history.Event{T: env.Writer.Now(), Phase: &history.Phase{Name: history.Drained}}))
	if env.load != nil {
		errs = append(errs, env.load.Stop(ctx), env.noteGateway(ctx))
	}
	env.Loading(nil)
	if env.watcher != nil {
		errs = append(errs, env.watcher.Stop())
	}
	for _, err := range errs {
		if err != nil {
			errs = append(errs, env.Writer.Append(HarnessError(env.Writer, err)))
		}
	}
	return errs
}

// Clear removes what the scenario created. It returns an error unless the next scenario finds the cluster as this one did.
func (env *Environment) Clear(ctx context.Context) error {
	if env.client == nil {
		return nil
	}
	var err error
	if env.deployed != nil { // while its operators run
		err = env.deployed.Clear(ctx)
	}
	// Before the namespace: a namespace that is deleted while an aggregated API has no server stays Terminating.
	if err := errors.Join(err, env.removeOutside(ctx), env.emptyNamespaces(ctx), env.removeVolumes(ctx)); err != nil {
		return err
	}
	return restore.AwaitIntact(ctx, env.client, env.Cluster)
}

// target is what the scenario's faults may disrupt.
func (env *Environment) target(config *rest.Config) (fault.Target, error) {
	client, err := kubernetes.NewForConfig(observe.RecordEvictions(config, env.Writer))
	if err != nil {
		return fault.Target{}, err
	}
	untyped, err := dynamic.NewForConfig(config)
	if err != nil {
		return fault.Target{}, err
	}
	return fault.Target{
		Cluster: env.Cluster, Client: client, Dynamic: untyped, Namespace: env.namespace, Workload: env.backend, SchedulableReplicas: env.Spec.SchedulableReplicas,
		Kind: env.Spec.Controllers()[0].Kind, Services: env.Spec.Services(env.backend), Rand: env.random(),
	}, nil
}

// random is the scenario's own source of random numbers. It depends on the run's seed and the scenario's name, or its Lot, alone.
func (env *Environment) random() *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(cmp.Or(env.Spec.Lot, env.Spec.Name))) // never fails
	return rand.New(rand.NewPCG(env.Seed, h.Sum64()))
}

// HarnessError is an error of the harness as an event.
func HarnessError(w *history.Writer, err error) history.Event {
	return history.Event{T: w.Now(), Trouble: &history.Trouble{What: err.Error()}}
}
