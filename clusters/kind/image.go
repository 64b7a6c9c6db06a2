package kind

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/output"
)

// LoadImage imports the archive on every node that lacks image.Ref. A node whose kubelet reports the image is believed. Any other node is
// asked whether its containerd lists the image, gets the archive if it does not, and is asked again. image.Role, if set, limits this to the nodes of one role. All these nodes must be running.
func (c *Cluster) LoadImage(ctx context.Context, image clusters.Image) error {
	if info, err := os.Stat(image.Path); err != nil || !info.Mode().IsRegular() {
		return fmt.Errorf("load image %s: %w", image.Ref, errors.Join(err, errors.New("want a docker-archive file")))
	}
	reported := c.reported(ctx, image.Ref)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.NumCPU()) // each unpacking uses a whole CPU, so more in parallel would not be faster
	for _, n := range c.nodes {
		if image.Role != "" && image.Role != n.role {
			continue
		}
		if reported[n.name] {
			n.holds.Store(image.Ref, true)
		}
		group.Go(func() error { return n.loadImage(ctx, image) })
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("load image %s: %w", image.Ref, err)
	}
	return nil
}

// reportLimit bounds the request for what kubelets report. It takes some milliseconds.
const reportLimit = 5 * time.Second

// reported are the nodes whose kubelets report that they have an image. Asking the API server takes a hundredth of the time of asking each node. A
// kubelet reports no more than 50 images, and late; the other nodes are asked themselves. If the API server does not answer, every node is asked.
//
// Source: nodeStatusMaxImages in https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/
func (c *Cluster) reported(ctx context.Context, ref string) map[string]bool {
	ref, err := fullName(ref)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, reportLimit)
	defer cancel()
	list, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: clusters.LabelRole + "!=" + string(clusters.Simulated)})
	if err != nil {
		return nil // the API server may be away; the nodes themselves say what they have
	}
	found := make(map[string]bool)
	for _, n := range list.Items {
		for _, image := range n.Status.Images {
			if slices.Contains(image.Names, ref) {
				found[n.Name] = true
			}
		}
	}
	return found
}

// loadImage asks a node only until the node was seen to have the image. The node keeps it: kind disables image garbage
// collection in the kubelet, and a killed node keeps its disk. Asking eight nodes takes two CPUs for a second, and every
// scenario loads images.
//
// Source: imageGCHighThresholdPercent in sigs.k8s.io/kind/pkg/cluster/internal/kubeadm
func (n *Node) loadImage(ctx context.Context, image clusters.Image) error {
	if _, held := n.holds.Load(image.Ref); held {
		return nil
	}
	if err := n.bringImage(ctx, image); err != nil {
		return err
	}
	n.holds.Store(image.Ref, true)
	return nil
}

// bringImage returns when containerd lists the image.
func (n *Node) bringImage(ctx context.Context, image clusters.Image) error {
	if there, err := n.lists(ctx, image.Ref); err != nil || there {
		return err
	}
	archive, err := os.Open(image.Path)
	if err != nil {
		return err
	}
	defer archive.Close() //nolint:errcheck // opened for reading only
	cmd := n.cluster.e.Command(ctx, "exec", "--privileged", "--interactive", n.name,
		"ctr", "--namespace", "k8s.io", "images", "import", "--all-platforms", "--digests", "-")
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = archive, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("import into %s: %w: %s", n.name, err, tail(stderr.String(), 2))
	}
	there, err := n.lists(ctx, image.Ref)
	if err == nil && !there {
		err = fmt.Errorf("import into %s: %s holds no image of that name; its manifest's RepoTags must list it", n.name, image.Path)
	}
	return err
}

// lists reports whether containerd knows an image by this name.
func (n *Node) lists(ctx context.Context, ref string) (bool, error) {
	ref, err := fullName(ref)
	if err != nil {
		return false, err
	}
	out, err := n.Exec(ctx, "ctr", "--namespace", "k8s.io", "images", "ls", "--quiet", "name=="+ref)
	if err != nil {
		return false, fmt.Errorf("list the images of %s: %w", n.name, err)
	}
	return strings.TrimSpace(string(out)) == ref, nil
}

// fullName is the name that containerd uses for an image: "nginx" becomes docker.io/library/nginx:latest.
func fullName(ref string) (string, error) {
	parsed, err := name.ParseReference(ref)
	if err != nil {
		return "", fmt.Errorf("read the image's name: %w", err)
	}
	return strings.Replace(parsed.Name(), name.DefaultRegistry+"/", "docker.io/", 1), nil
}

// tail joins the last lines of a text into one line.
func tail(text string, count int) string {
	all := output.Lines(text)
	return strings.Join(all[max(0, len(all)-count):], " | ")
}
