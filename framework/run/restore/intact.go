package restore

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
)

// intactLimit bounds AwaitIntact. A node that was just started is Ready by then.
const intactLimit = time.Minute

// AwaitIntact returns when a cluster can run the next scenario: every machine runs, every node is Ready and schedulable, and
// the Deployments and DaemonSets of kube-system have all their pods. After a minute it returns an error that lists what is
// missing.
func AwaitIntact(ctx context.Context, client kubernetes.Interface, cluster clusters.Cluster) error {
	return poll.Until(ctx, "cluster "+cluster.Name()+" to be as it was", intactLimit,
		func(ctx context.Context) (bool, string, error) {
			wrong, err := troubleOf(ctx, client, cluster)
			if err != nil {
				return false, "", err
			}
			machines := cluster.Nodes()
			states, err := statesOf(ctx, machines)
			if err != nil {
				return false, "", err
			}
			for i, n := range machines {
				if states[i] != clusters.Running {
					wrong = append(wrong, fmt.Sprintf("machine %s is %s", n.Name(), states[i]))
				}
			}
			return len(wrong) == 0, strings.Join(wrong, ", "), nil
		})
}

// troubleOf lists what the API server says that a cluster lacks for the next scenario: nodes that are missing, not Ready or not schedulable, and
// pods of kube-system. It looks once, and does not ask the machines.
func troubleOf(ctx context.Context, client kubernetes.Interface, cluster clusters.Cluster) (wrong []string, err error) {
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, n := range list.Items {
		there[n.Name] = true
		wrong = append(wrong, nodeTrouble(n)...)
	}
	for _, n := range cluster.Nodes() {
		if !there[n.Name()] {
			wrong = append(wrong, "node "+n.Name()+" is not there")
		}
	}
	short, err := missingPods(ctx, client)
	return append(wrong, short...), err
}

// missingPods lists the Deployments and DaemonSets of kube-system that have too few available pods.
func missingPods(ctx context.Context, client kubernetes.Interface) (wrong []string, err error) {
	sets, err := client.AppsV1().DaemonSets(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	deployments, err := client.AppsV1().Deployments(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{})
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

// tooFew compares a status with its spec. A status of an earlier generation proves nothing about the present spec.
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

// statesOf reads the machines' states, several at a time, because most of it is waiting for the engine.
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

// nodeTrouble lists the reasons why a node takes no pods.
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
