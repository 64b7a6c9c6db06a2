package fault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters"
)

// What a harness that was killed has left of its faults, and how it is undone by another process: see `holdfast heal`. What a
// fault makes in the cluster has a label; this is what it does to nodes.

// cordonedBy marks a node that a fault has closed to new pods, with the same request that closes it: one that somebody else has
// closed is not ours to open.
const cordonedBy = "holdfast.dev/cordoned"

// CordonedByUs tells whether it was a fault that closed a node to new pods.
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

// Uncordon opens the nodes that a fault has closed, and names them. Others stay as they are.
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

// undoLimit bounds how many undos a node is asked for: there are as many names as there are faults.
const undoLimit = 100

// The commands that look for what is left on a node; $1 is the folder.
const (
	listUndosScript = `[ ! -d "$1" ] || ls "$1"`
	// calmScript removes what no script stands behind: timers, and what was half written.
	calmScript = `[ ! -d "$1" ] || rm -f "$1"/.*.part
for unit in $(systemctl list-units --all --plain --no-legend 'holdfast-undo-*.timer' | cut -d ' ' -f 1); do
	systemctl stop "$unit" && echo "$unit"
done`
)

// RunUndos runs every undo that faults have left on a node, and removes their timers. It says what it did, also with an error:
// one that fails keeps none of the others from being run.
func RunUndos(ctx context.Context, node clusters.Node) (did []string, err error) {
	names, err := LeftUndos(ctx, node)
	if err != nil {
		return nil, err
	}
	var failed []error
	for _, name := range names {
		if err := runUndo(ctx, node, name); err != nil {
			failed = append(failed, err)
			continue
		}
		did = append(did, "ran the undo "+name+" on "+node.Name())
	}
	if len(failed) > 0 { // their timers go on
		return did, errors.Join(failed...)
	}
	out, err := node.Exec(ctx, "sh", "-c", calmScript, "calm", undoFolder)
	if err != nil {
		return did, fmt.Errorf("remove timers on %s: %w", node.Name(), err)
	}
	for _, unit := range strings.Fields(string(out)) {
		did = append(did, "removed "+unit+" on "+node.Name())
	}
	return did, nil
}

// LeftUndos names the undos that faults have left on a node: what they undo may be in force.
func LeftUndos(ctx context.Context, node clusters.Node) ([]string, error) {
	out, err := node.Exec(ctx, "sh", "-c", listUndosScript, "list", undoFolder)
	if err != nil {
		return nil, fmt.Errorf("look for undos on %s: %w", node.Name(), err)
	}
	names := slices.DeleteFunc(strings.Split(string(out), "\n"), func(name string) bool { return !undoName.MatchString(name) })
	if len(names) > undoLimit {
		return nil, fmt.Errorf("look for undos on %s: %d are no faults of ours; see %s there", node.Name(), len(names), undoFolder)
	}
	return names, nil
}
