package environment

import (
	"context"
	"fmt"
	"maps"

	"k8s.io/client-go/rest"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/load/collect"
	"github.com/holdfast-ha/holdfast/framework/load/workers"
	"github.com/holdfast-ha/holdfast/workloads"
)

// StartLoad gives each load worker its share of the plan. It returns when the load flows.
func (env *Environment) StartLoad(ctx context.Context) error {
	if len(env.Spec.Load) == 0 {
		return nil
	}
	plan, err := env.plan(ctx)
	if err != nil {
		return err
	}
	if env.Spec.App != nil {
		return env.startLoad(ctx, plan)
	}
	targets := plan.Targets()
	if len(targets) > 0 {
		if err := env.listening(ctx); err != nil {
			return err
		}
	}
	for _, target := range targets {
		if err := env.serving(ctx, target); err != nil {
			return err
		}
	}
	return env.startLoad(ctx, plan)
}

// startLoad gives each load worker its share of a plan, once all of them are ready.
func (env *Environment) startLoad(ctx context.Context, plan load.Plan) error {
	config := rest.CopyConfig(env.Cluster.Config())
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return fmt.Errorf("reach the load workers: %w", err)
	}
	all, err := env.loadPods().Ready(ctx, env.loadWorkers().Workers, deployLimit)
	if err != nil {
		return err
	}
	// The session must outlive an interrupted scenario, because all sent requests have to be collected.
	env.load, err = collect.Start(context.WithoutCancel(ctx), client, all, plan, env.sink())
	if err != nil {
		return err
	}
	env.Loading(func() (sent, failed uint64) {
		t := env.load.Totals()
		return t.Sent, t.Failed
	})
	return nil
}

// loadPods are the pods of the load workers.
func (env *Environment) loadPods() workers.Pods {
	return workers.Pods{Client: env.client, Config: env.Cluster.Config(), Namespace: env.Spec.LoadNamespace(), Token: env.orders}
}

// loadReady waits for the load workers' pods.
func (env *Environment) loadReady(ctx context.Context) error {
	_, err := env.loadPods().Ready(ctx, env.loadWorkers().Workers, deployLimit)
	return err
}

// answered are the pods that have just answered on each lane. Lanes whose answers are those of other pods than those under test are left out.
func (env *Environment) answered(ctx context.Context) (map[history.Lane][]string, error) {
	all, err := env.load.Answered(ctx)
	maps.DeleteFunc(all, func(lane history.Lane, _ []string) bool {
		return !env.Spec.Names(lane, env.backend)
	})
	return all, err
}

// loadWorkers are the load workers of the scenario: on the load node, and on the first workers.
func (env *Environment) loadWorkers() workloads.Load {
	var also []string
	for _, n := range env.Cluster.Nodes() {
		if n.Role() == clusters.Worker && len(also) < env.Spec.LoadWorkers.OnWorkers {
			also = append(also, n.Name())
		}
	}
	workers := env.Spec.LoadWorkload(also).WithDefaults()
	workers.TokenSum = collect.TokenSum(env.orders)
	return workers
}
