package fault

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// cordonedBy marks a node that a fault has cordoned, with the same request that cordons it: a node that was cordoned by something else
// must not be uncordoned by holdfast.
const cordonedBy = "holdfast.dev/cordoned"

// CordonedByUs reports whether a fault has cordoned a node.
func CordonedByUs(node *corev1.Node) bool { return node.Annotations[cordonedBy] != "" }

func cordonPatch(unschedulable bool) []byte {
	var mark any // null: it goes
	if unschedulable {
		mark = "true"
	}
	body, _ := json.Marshal(map[string]any{ // which can always be encoded
		"metadata": map[string]any{"annotations": map[string]any{cordonedBy: mark}},
		"spec":     map[string]any{"unschedulable": unschedulable},
	})
	return body
}

// Uncordon uncordons the nodes that faults have cordoned, and returns their names. Other nodes stay as they are.
func Uncordon(ctx context.Context, client kubernetes.Interface) (opened []string, err error) {
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	for _, n := range list.Items {
		if !CordonedByUs(&n) {
			continue
		}
		_, err := client.CoreV1().Nodes().Patch(ctx, n.Name, types.MergePatchType, cordonPatch(false), metav1.PatchOptions{})
		if err != nil {
			return opened, fmt.Errorf("uncordon %s: %w", n.Name, err)
		}
		opened = append(opened, n.Name)
	}
	return opened, nil
}
