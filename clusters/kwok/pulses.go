package kwok

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters"
)

// freshFor is how long a look at all nodes is used: what asks after one node usually asks after a thousand.
const freshFor = time.Second

// pulse is what the API server says of a simulated node.
type pulse struct {
	kept  bool      // kwok is asked to keep its lease
	ready bool      // see takesPods
	lease time.Time // its last renewal, by kwok's clock
}

// pulses looks at all simulated nodes at once.
type pulses struct {
	client kubernetes.Interface

	mu   sync.Mutex
	at   time.Time
	last map[string]pulse
}

// look returns the pulses of all simulated nodes, not older than freshFor when it was called. A caller that waited for a
// look which began meanwhile gets its result: where a look takes longer than that, 5,000 callers would otherwise look one after the other.
func (p *pulses) look(ctx context.Context) (map[string]pulse, error) {
	asked := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last != nil && p.at.After(asked.Add(-freshFor)) {
		return p.last, nil
	}
	began := time.Now()
	nodes, err := p.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: clusters.LabelRole + "=" + string(clusters.Simulated)})
	if err != nil {
		return nil, fmt.Errorf("list simulated nodes: %w", err)
	}
	leases, err := p.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the leases of nodes: %w", err)
	}
	found := make(map[string]pulse, len(nodes.Items))
	for _, n := range nodes.Items {
		found[n.Name] = pulse{kept: n.Labels[LabelKubelet] == kubeletOn, ready: takesPods(n)}
	}
	for _, l := range leases.Items {
		if one, simulated := found[l.Name]; simulated && l.Spec.RenewTime != nil {
			one.lease = l.Spec.RenewTime.Time
			found[l.Name] = one
		}
	}
	p.at, p.last = began, found
	return found, nil
}

// forget makes the next look a new one.
func (p *pulses) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = nil
}

// of is the pulse of one node.
func (p *pulses) of(ctx context.Context, name string) (pulse, error) {
	all, err := p.look(ctx)
	if err != nil {
		return pulse{}, err
	}
	one, there := all[name]
	if !there {
		return pulse{}, fmt.Errorf("look at node %s: there is no such simulated node", name)
	}
	return one, nil
}

// takesPods reports whether a node is Ready, and the node controller has taken its taints back. Of 5,000 new nodes it takes minutes for that.
func takesPods(n corev1.Node) bool {
	for _, t := range n.Spec.Taints {
		if t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable {
			return false
		}
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
