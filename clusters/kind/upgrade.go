package kind

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/nodeimage"
)

const (
	// kubeadmWithin bounds one run of kubeadm. Measured: 40 to 90 s for a control plane under load on 2 cores. kubeadm itself
	// waits five minutes for each of a control plane's pods to come back.
	kubeadmWithin = 15 * time.Minute
	// addonsWithin bounds the way of CoreDNS and kube-proxy to their new versions, the latter a node after the other. Measured: 10 s a
	// node where three clusters shared 2 cores.
	addonsWithin = 6 * time.Minute
	// releaseFolder is where a node keeps what was fetched, a folder a version.
	releaseFolder = "/var/lib/holdfast/release"
	// programFolder is where a node image has kubeadm, kubelet and kubectl: kindest/node, and ours.
	programFolder = "/usr/bin"
	// kubeadmLog lies where CollectLogs finds it.
	kubeadmLog = "/var/log/kubeadm-upgrade.log"
)

var _ clusters.Upgrader = (*Cluster)(nil)

// Fetch gets the node image of a version and brings what it holds of Kubernetes to the nodes: kubeadm, kubelet and kubectl, and
// the images of the cluster's own pods, of which workers need kube-proxy's alone. The container runtime and all else of a node
// stay as they are.
func (c *Cluster) Fetch(ctx context.Context, to string) (clusters.Release, error) {
	from := c.Spec().Kubernetes
	if err := clusters.CheckUpgrade(from, to); err != nil {
		return clusters.Release{}, err
	}
	if c.fetched.Kubernetes == to {
		return c.fetched, nil
	}
	c.log.Info("getting Kubernetes " + to)
	release, err := c.release(ctx, to)
	if err != nil {
		return clusters.Release{}, fmt.Errorf("fetch Kubernetes %s: %w", to, err)
	}
	c.log.Info("bringing Kubernetes " + to + " to the nodes")
	brought, err := c.bring(ctx, release)
	if err == nil {
		c.fetched = brought
	}
	return brought, err
}

func (c *Cluster) bring(ctx context.Context, release nodeimage.Release) (clusters.Release, error) {
	brought := clusters.Release{
		Kubernetes: release.Kubernetes, Image: release.Image, Digest: release.Digest, Images: map[string]string{},
	}
	for _, image := range release.Images {
		brought.Images[image.Ref] = image.Digest
		role := clusters.ControlPlane
		if strings.Contains(path.Base(image.Ref), "kube-proxy") { // the only one that runs on workers
			role = ""
		}
		if err := c.LoadImage(ctx, clusters.Image{Ref: image.Ref, Path: image.Path, Role: role}); err != nil {
			return clusters.Release{}, err
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.NumCPU())
	for _, n := range c.nodes {
		group.Go(func() error {
			for _, file := range []string{release.Kubeadm, release.Kubelet, release.Kubectl} {
				if err := n.put(ctx, file, path.Join(releaseFolder, release.Kubernetes, path.Base(file))); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return brought, group.Wait()
}

// put copies a program to a node. It is there under its name when it is whole.
func (n *Node) put(ctx context.Context, file, at string) error {
	program, err := os.Open(file)
	if err != nil {
		return err
	}
	defer program.Close() //nolint:errcheck // it was only read
	const script = `set -e; mkdir -p "$(dirname "$1")"; cat >"$1.part"; chmod 0755 "$1.part"; mv "$1.part" "$1"`
	cmd := n.cluster.e.Command(ctx, "exec", "--privileged", "--interactive", n.name, "bash", "-c", script, "put", at)
	var said bytes.Buffer
	cmd.Stdin, cmd.Stderr = program, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("copy %s to %s: %w: %s", path.Base(file), n.name, errors.Join(err, context.Cause(ctx)), tail(said.String(), 2))
	}
	return nil
}

// UpgradeNode runs "kubeadm upgrade apply" on the first control plane, and "kubeadm upgrade node" on every other node. What
// kubeadm says is kept in the node's /var/log, which CollectLogs collects.
func (c *Cluster) UpgradeNode(ctx context.Context, node clusters.Node, to clusters.Release) error {
	n, err := c.own(node)
	if err != nil {
		return err
	}
	args := "node"
	if n == c.nodes[0] {
		args = "apply --yes " + to.Kubernetes
	}
	// Of kubeadm's checks of the machine some fail in a container: kind skips all of them, for the same reason.
	script := fmt.Sprintf(`set -o pipefail; %s/%s/kubeadm upgrade %s --ignore-preflight-errors=all 2>&1 | tee -a %s`,
		releaseFolder, to.Kubernetes, args, kubeadmLog)
	bounded, cancel := context.WithTimeout(ctx, kubeadmWithin)
	defer cancel()
	if out, err := n.Exec(bounded, "bash", "-c", script); err != nil {
		return fmt.Errorf("kubeadm upgrade %s on %s: %w: %s", strings.Fields(args)[0], n.name, err, tail(string(out), explainLines))
	}
	if n.role != clusters.ControlPlane {
		return nil
	}
	if err := settle(ctx, addonsWithin, func(ctx context.Context) []string { return n.controlPlaneLacks(ctx, to) }); err != nil {
		return fmt.Errorf("see the control plane of %s at %s: %w", n.name, to.Kubernetes, err)
	}
	return nil
}

// SwapKubelet ends the kubelet, replaces it and kubectl, and starts the new one.
func (c *Cluster) SwapKubelet(ctx context.Context, node clusters.Node, to clusters.Release) error {
	n, err := c.own(node)
	if err != nil {
		return err
	}
	_, before, err := n.pulse(ctx)
	if err != nil {
		return fmt.Errorf("swap the kubelet of %s: %w", n.name, err)
	}
	const script = `set -e; systemctl stop kubelet; for p in kubeadm kubelet kubectl; do cp "$1/$p" "$2/$p.new"; mv "$2/$p.new" "$2/$p"; done
systemctl daemon-reload; systemctl start kubelet`
	if _, err := n.Exec(ctx, "bash", "-c", script, "swap", path.Join(releaseFolder, to.Kubernetes), programFolder); err != nil {
		return fmt.Errorf("swap the kubelet of %s: %w", n.name, err)
	}
	err = settle(ctx, startWithin, func(ctx context.Context) []string {
		if missing := n.kubeletLacks(ctx, to); len(missing) > 0 {
			return missing
		}
		return n.lookBack(ctx, before)
	})
	if err == nil && n.role == clusters.ControlPlane {
		err = n.staysUp(ctx, to)
	}
	if err != nil {
		return fmt.Errorf("see %s back with its new kubelet: %w", n.name, err)
	}
	return nil
}

// staysFor is how long a control plane's pods must have been ready without a break. A new kubelet starts them anew, some seconds
// after it has begun to answer; and an API server that has just been started refuses everybody until it has read who may do what.
const staysFor = 10 * time.Second

// staysUp returns when the control plane has been whole for a while.
func (n *Node) staysUp(ctx context.Context, to clusters.Release) error {
	var since time.Time
	return settle(ctx, addonsWithin, func(ctx context.Context) []string {
		missing := n.controlPlaneLacks(ctx, to)
		if said, err := n.cluster.client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx); err != nil {
			missing = append(missing, fmt.Sprintf("the API server is not ready: %v %s", err, tail(string(said), 1)))
		}
		switch {
		case len(missing) > 0:
			since = time.Time{}
			return missing
		case since.IsZero():
			since = time.Now()
		}
		if whole := time.Since(since); whole < staysFor {
			return []string{fmt.Sprintf("the control plane is whole for %s only", whole.Round(time.Second))}
		}
		return nil
	})
}

// Upgraded proves the cluster and keeps its new version, for whoever opens the cluster later too.
func (c *Cluster) Upgraded(ctx context.Context, to clusters.Release) error {
	for _, n := range c.nodes {
		if missing := n.kubeletLacks(ctx, to); len(missing) > 0 {
			return fmt.Errorf("see cluster %s at %s: %s", c.name, to.Kubernetes, strings.Join(missing, ", "))
		}
	}
	if err := c.Prove(ctx); err != nil {
		return err
	}
	r := c.record
	r.Spec.Kubernetes, r.Image = to.Kubernetes, to.Image
	if err := keepUpgrade(c.name, r); err != nil {
		return fmt.Errorf("keep the version of cluster %s: %w", c.name, err)
	}
	c.record = r
	return nil
}

// own is our node behind the interface.
func (c *Cluster) own(node clusters.Node) (*Node, error) {
	for _, n := range c.nodes {
		if n.name == node.Name() {
			return n, nil
		}
	}
	return nil, fmt.Errorf("upgrade %s: it is no node of cluster %s", node.Name(), c.name)
}
