package scenario

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/poll"
)

// intactLimit bounds how long a cluster may take to be as it was. A node that was just started is Ready by then.
const intactLimit = time.Minute

// intact says whether the next scenario finds the cluster as this one did: every machine runs, every node is Ready and takes
// pods, and of what serves the cluster itself (kube-proxy, CoreDNS) as much is available as is asked for.
func (st *stage) intact(ctx context.Context) error {
	return poll.Until(ctx, "cluster "+st.cluster.Name()+" to be as it was", intactLimit,
		func(ctx context.Context) (bool, string, error) {
			list, err := st.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
			if err != nil {
				return false, "", err
			}
			var wrong []string
			there := map[string]bool{}
			for _, n := range list.Items {
				there[n.Name] = true
				wrong = append(wrong, nodeTrouble(n)...)
			}
			machines := st.cluster.Nodes()
			states, err := statesOf(ctx, machines)
			if err != nil {
				return false, "", err
			}
			for i, n := range machines {
				if !there[n.Name()] {
					wrong = append(wrong, "node "+n.Name()+" is not there")
				}
				if states[i] != clusters.Running {
					wrong = append(wrong, fmt.Sprintf("machine %s is %s", n.Name(), states[i]))
				}
			}
			short, err := st.shortOfPods(ctx)
			wrong = append(wrong, short...)
			return err == nil && len(wrong) == 0, strings.Join(wrong, ", "), err
		})
}

// shortOfPods lists the Deployments and DaemonSets of the cluster's own namespace of which too little is available.
func (st *stage) shortOfPods(ctx context.Context) (wrong []string, err error) {
	sets, err := st.client.AppsV1().DaemonSets(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	deployments, err := st.client.AppsV1().Deployments(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, d := range sets.Items {
		s := d.Status
		wrong = append(wrong, tooFew("DaemonSet "+d.Name, s.NumberAvailable, s.DesiredNumberScheduled, s.ObservedGeneration, d.Generation)...)
	}
	for _, d := range deployments.Items {
		s := d.Status
		wrong = append(wrong, tooFew("Deployment "+d.Name, s.AvailableReplicas, ptr.Deref(d.Spec.Replicas, 1), s.ObservedGeneration, d.Generation)...)
	}
	return wrong, nil
}

// tooFew says what a status lacks: a status of an earlier generation says nothing about what is asked for now.
func tooFew(what string, available, want int32, observed, generation int64) []string {
	if available >= want && observed >= generation {
		return nil
	}
	text := fmt.Sprintf("%s has %d of %d pods available", what, available, want)
	if observed < generation {
		text += fmt.Sprintf(", by status of generation %d of %d", observed, generation)
	}
	return []string{text}
}

// statesOf asks for the machines' states, several at a time: most of it is waiting for the engine.
func statesOf(ctx context.Context, machines []clusters.Node) ([]clusters.NodeState, error) {
	states := make([]clusters.NodeState, len(machines))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(2 * runtime.NumCPU())
	for i, n := range machines {
		group.Go(func() (err error) {
			states[i], err = n.State(ctx)
			return err
		})
	}
	return states, group.Wait()
}

// nodeTrouble lists what keeps a node from taking pods.
func nodeTrouble(n corev1.Node) (wrong []string) {
	ready := corev1.ConditionUnknown
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			ready = c.Status
		}
	}
	if ready != corev1.ConditionTrue {
		wrong = append(wrong, fmt.Sprintf("node %s has Ready=%s", n.Name, ready))
	}
	if n.Spec.Unschedulable {
		wrong = append(wrong, "node "+n.Name+" is cordoned")
	}
	for _, t := range n.Spec.Taints {
		if strings.HasPrefix(t.Key, "node.kubernetes.io/") {
			wrong = append(wrong, fmt.Sprintf("node %s has taint %s", n.Name, t.Key))
		}
	}
	return wrong
}
