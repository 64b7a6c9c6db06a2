package environment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/framework/base/self"
	"github.com/holdfast-ha/holdfast/framework/deploy/images"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// serveAppImages serves the images of an application to the nodes, and loads those of its pods.
func (env *Environment) serveAppImages(ctx context.Context) error {
	if env.Spec.App.Layout == "" {
		return errors.New("the images of the application were not gathered")
	}
	var ofPods []string
	for _, r := range env.Spec.App.References() {
		if r.Use != app.InPod {
			continue
		}
		name, err := images.ParseName(r.Image)
		if err != nil {
			return fmt.Errorf("%s: %w", r.Where, err)
		}
		ofPods = append(ofPods, name.String())
	}
	slices.Sort(ofPods)
	executable, err := self.Path(ctx, env.CacheDir)
	if err != nil {
		return err
	}
	node, err := env.loadNode()
	if err != nil {
		return err
	}
	address, err := env.addressOf(ctx, node.Name())
	if err != nil {
		return err
	}
	return images.StartMirror(ctx, env.Cluster, address, env.Spec.App.Layout, executable, slices.Compact(ofPods))
}

// addressOf is the IPv4 address of a node in the cluster's network.
func (env *Environment) addressOf(ctx context.Context, node string) (string, error) {
	found, err := env.client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("read the address of %s: %w", node, err)
	}
	for _, a := range found.Status.Addresses {
		if a.Type == corev1.NodeInternalIP && !strings.Contains(a.Address, ":") {
			return a.Address, nil
		}
	}
	return "", fmt.Errorf("read the address of %s: it has no IPv4 address", node)
}
