package fit

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
)

// graceFlag is kube-controller-manager's.
const graceFlag = "--node-monitor-grace-period="

// restartLimit is how long the controller manager may take to restart; a calm machine takes some seconds.
const restartLimit = time.Minute

// Wait lets the control plane of a cluster of ours wait longer for a silent node: the kubelet restarts the controller manager when its manifest
// changes.
func Wait(ctx context.Context, c clusters.Cluster, grace time.Duration) error {
	for _, node := range c.Nodes() {
		if node.Role() != clusters.ControlPlane {
			continue
		}
		if _, err := node.Exec(ctx, "sed", "-i", "s/"+graceFlag+".*/"+graceFlag+grace.String()+"/", "/etc/kubernetes/manifests/kube-controller-manager.yaml"); err != nil {
			return fmt.Errorf("let %s wait longer for silent nodes: %w", node.Name(), err)
		}
		err := poll.Until(ctx, "the controller manager of "+node.Name()+" to wait "+grace.String()+" for silent nodes", restartLimit, func(ctx context.Context) (bool, string, error) {
			out, err := node.Exec(ctx, "pgrep", "-a", "-f", "^kube-controller-manager ")
			return strings.Contains(string(out), graceFlag+grace.String()), string(out), err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
