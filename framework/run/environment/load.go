package environment

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/load/collect"
	"github.com/holdfast-ha/holdfast/framework/load/workers"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/gateway"
	"github.com/holdfast-ha/holdfast/workloads/serve"
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

// noteGateway records what the gateway has counted since it was ready for the load. If the gateway does not answer, or was
// restarted and counts from zero again, nothing is recorded. The verdicts depend on the clients' requests, not on these counts.
func (env *Environment) noteGateway(ctx context.Context) error {
	if env.gatewayStats == "" {
		return nil
	}
	before := env.gatewayBefore
	node, err := env.loadNode()
	if err != nil {
		return err
	}
	answer, err := node.Exec(ctx, "curl", "--silent", "--show-error", "--fail", "--max-time", "2", env.gatewayStats)
	var now gateway.Stats
	if err != nil || json.Unmarshal(answer, &now) != nil || now.Requests < before.Requests {
		return nil //nolint:nilerr // as above
	}
	return env.Writer.Append(history.Event{T: env.Writer.Now(), Gateway: &history.GatewayTotals{
		Requests: now.Requests - before.Requests, Tries: now.Tries - before.Tries,
		Masked: now.Masked - before.Masked, Failed: now.Failed - before.Failed,
	}})
}

// listening waits until every endpoint of the workload that takes the load answers requests from the load node. Without a readiness probe a pod is an
// endpoint before it listens, and requests that fail for that reason would be attributed to a fault.
func (env *Environment) listening(ctx context.Context) error {
	backend := env.backend
	if env.Spec.Simulated != nil { // nothing listens on simulated nodes, and no request goes there
		backend = env.Spec.Backend.WithDefaults().Name
	}
	list, err := env.client.DiscoveryV1().EndpointSlices(env.namespace).List(ctx, metav1.ListOptions{
		LabelSelector: discoveryv1.LabelServiceName + "=" + backend,
	})
	if err != nil {
		return fmt.Errorf("list the endpoints of %s: %w", backend, err)
	}
	var addresses []string
	for _, s := range list.Items {
		for _, e := range s.Endpoints {
			if e.Conditions.Ready == nil || *e.Conditions.Ready { // Kubernetes takes nil as true
				addresses = append(addresses, e.Addresses...)
			}
		}
	}
	slices.Sort(addresses)
	addresses = slices.Compact(addresses)
	urls := make([]string, len(addresses))
	for i, address := range addresses {
		urls[i] = "http://" + net.JoinHostPort(address, strconv.Itoa(workloads.Port)) + serve.HealthPath
	}
	if len(urls) == 0 {
		return nil
	}
	return env.ask(ctx, "the endpoints "+prose.List(addresses)+" of "+backend+" to answer", anyAnswer, urls...)
}

func anyAnswer([]byte) (bool, string, error) { return true, "", nil }

// podNames is a record that remembers which pod had which IP address, because the servers of an application do not say which pod they
// are.
type podNames struct {
	*history.Writer
	mu    sync.Mutex
	owner map[string][]podAddress // by IP, in the order of time
}

// podAddress is a pod that got an address.
type podAddress struct {
	since     history.Offset
	pod, node string
}

// Append records an event.
func (p *podNames) Append(e history.Event) error {
	if e.Pod != nil && e.Pod.IP != "" {
		p.note(e.T, e.Pod)
	}
	return p.Writer.Append(e)
}

func (p *podNames) note(at history.Offset, pod *history.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.owner == nil {
		p.owner = make(map[string][]podAddress)
	}
	list := p.owner[pod.IP]
	if n := len(list); n > 0 && list[n-1].pod == pod.Name {
		return
	}
	p.owner[pod.IP] = append(list, podAddress{at, pod.Name, pod.Node})
}

// Named implements collect.Servers. The watch reports a pod's address before the pod is ready, so before clients are sent to it.
func (p *podNames) Named(ip string, at history.Offset) (pod, node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range p.owner[ip] {
		if o.since > at {
			break
		}
		pod, node = o.pod, o.node
	}
	return pod, node
}
