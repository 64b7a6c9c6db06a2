package kwok

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
)

// daemonLimit bounds the replacement of the pods of kube-system's DaemonSets. Measured: 5 s with three real nodes.
const daemonLimit = 2 * time.Minute

// keepDaemonsAway keeps the DaemonSets of kube-system, whose pods tolerate everything, from simulated nodes. Otherwise each simulated node would
// get one pod of each DaemonSet, and that pod would do nothing.
func keepDaemonsAway(ctx context.Context, client kubernetes.Interface) error {
	sets := client.AppsV1().DaemonSets(metav1.NamespaceSystem)
	list, err := sets.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list DaemonSets: %w", err)
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"affinity": onMachines()}}}})
	if err != nil {
		return err
	}
	for _, d := range list.Items {
		if _, err := sets.Patch(ctx, d.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("keep DaemonSet %s from simulated nodes: %w", d.Name, err)
		}
	}
	return poll.Until(ctx, "the DaemonSets to be where they were", daemonLimit, func(ctx context.Context) (bool, string, error) {
		list, err := sets.List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, "", err
		}
		var waiting []string
		for _, d := range list.Items {
			s := d.Status
			if s.ObservedGeneration < d.Generation || s.UpdatedNumberScheduled < s.DesiredNumberScheduled || s.NumberAvailable < s.DesiredNumberScheduled {
				waiting = append(waiting, d.Name)
			}
		}
		return len(waiting) == 0, strings.Join(waiting, ", "), nil
	})
}

// onMachines lets pods on all nodes but simulated ones.
func onMachines() *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{
			Key: clusters.LabelRole, Operator: corev1.NodeSelectorOpNotIn, Values: []string{string(clusters.Simulated)},
		}}}},
	}}}
}
