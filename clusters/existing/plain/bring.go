package plain

import (
	"context"
	"fmt"
	"path"
	"path/filepath"

	"github.com/holdfast-ha/holdfast/clusters/nodeimage"
)

// broughtTo is the folder of the programs of another version on each node, with a folder for each version.
const broughtTo = "/opt/kubernetes"

// Bring puts another version of Kubernetes on each node, as an administrator's mirrors of packages and images do, and changes nothing else: kubeadm,
// kubelet and kubectl in the folder that it returns, and the images of the cluster's own pods.
func (c *Cluster) Bring(ctx context.Context, version string) (folder string, err error) {
	release, err := nodeimage.GetRelease(ctx, c.engine, version, nodeimage.Options{})
	if err != nil {
		return "", fmt.Errorf("bring Kubernetes %s: %w", version, err)
	}
	for _, image := range release.Images {
		if err := c.LoadImage(image.Path); err != nil {
			return "", err
		}
	}
	nodes, err := c.kind.ListInternalNodes(c.fullName())
	if err != nil {
		return "", err
	}
	folder = path.Join(broughtTo, release.Kubernetes)
	for _, n := range nodes {
		if _, err := c.engine.Output(ctx, "exec", n.String(), "mkdir", "-p", folder); err != nil {
			return "", err
		}
		for _, program := range []string{release.Kubeadm, release.Kubelet, release.Kubectl} {
			if _, err := c.engine.Output(ctx, "cp", program, n.String()+":"+path.Join(folder, filepath.Base(program))); err != nil {
				return "", err
			}
		}
	}
	return folder, nil
}

// On is the command that runs another one on a node, whose name follows, as ssh is for other machines.
func (c *Cluster) On() string { return c.engine.Name() + " exec" }
