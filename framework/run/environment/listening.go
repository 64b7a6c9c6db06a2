package environment

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/serve"
)

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
