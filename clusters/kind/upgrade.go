package kind

import (
	"context"
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
	// kubeadmWithin bounds one run of kubeadm. Measured: 40 to 90 s for a control plane under load on 2 CPUs. kubeadm itself
	// waits up to five minutes for each pod of the control plane to come back.
	kubeadmWithin = 15 * time.Minute
	// addonsWithin bounds the upgrade of CoreDNS and kube-proxy. kube-proxy is updated node by node. Measured: 10 s per node
	// with three clusters on 2 CPUs.
	addonsWithin = 6 * time.Minute
	// ReleaseFolder is the folder of fetched files on a node, with one subfolder per version.
	ReleaseFolder = "/var/lib/holdfast/release"
	// programFolder contains kubeadm, kubelet and kubectl, in kindest/node and in our own images.
	programFolder = "/usr/bin"
	// kubeadmLog is below /var/log so that CollectLogs collects it.
	kubeadmLog = "/var/log/kubeadm-upgrade.log"
)

var _ clusters.Upgrader = (*Cluster)(nil)

// Fetch gets the node image of a version and copies its Kubernetes files to the nodes: kubeadm, kubelet and kubectl, and the
// images of the cluster's system pods. Workers get only the image of kube-proxy. The container runtime and the rest of a node
// do not change.
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
		if strings.Contains(path.Base(image.Ref), "kube-proxy") { // the only system image that runs on workers
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
				if err := n.put(ctx, file, path.Join(ReleaseFolder, release.Kubernetes, path.Base(file))); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return brought, group.Wait()
}

// put copies a program to a node. The file appears under its name only when it is complete.
func (n *Node) put(ctx context.Context, file, at string) error {
	program, err := os.Open(file)
	if err != nil {
		return err
	}
	defer program.Close() //nolint:errcheck // opened for reading only
	const script = `set -e; mkdir -p "$(dirname "$1")"; cat >"$1.part"; chmod 0755 "$1.part"; mv "$1.part" "$1"`
	if err := n.Feed(ctx, program, "bash", "-c", script, "put", at); err != nil {
		return fmt.Errorf("copy %s: %w", path.Base(file), err)
	}
	return nil
}

// UpgradeNode runs "kubeadm upgrade apply" on the first control plane, and "kubeadm upgrade node" on every other node.
// kubeadm's output is appended to a file in the node's /var/log, which CollectLogs collects.
func (c *Cluster) UpgradeNode(ctx context.Context, node clusters.Node, to clusters.Release) error {
	n, err := c.own(node)
	if err != nil {
		return err
	}
	args := "node"
	if n == c.nodes[0] {
		args = "apply --yes " + to.Kubernetes
	}
	// Some of kubeadm's preflight checks fail in a container. kind skips all of them for the same reason.
	script := fmt.Sprintf(`set -o pipefail; %s/%s/kubeadm upgrade %s --ignore-preflight-errors=all 2>&1 | tee -a %s`,
		ReleaseFolder, to.Kubernetes, args, kubeadmLog)
	bounded, cancel := context.WithTimeout(ctx, kubeadmWithin)
	defer cancel()
	if out, err := n.Exec(bounded, "bash", "-c", script); err != nil {
		return fmt.Errorf("kubeadm upgrade %s on %s: %w: %s", strings.Fields(args)[0], n.name, err, tail(string(out), explainLines))
	}
	if n.role != clusters.ControlPlane {
		return nil
	}
	if err := settle(ctx, "its pods to be ready", addonsWithin, func(ctx context.Context) []string { return n.controlPlaneLacks(ctx, to) }); err != nil {
		return fmt.Errorf("upgrade the control plane of %s to %s: %w", n.name, to.Kubernetes, err)
	}
	return nil
}

// SwapKubelet stops the kubelet, replaces the kubelet, kubectl and kubeadm, and starts the new kubelet. On a control plane it
// then waits until the control plane has been ready for 10 s.
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
	if _, err := n.Exec(ctx, "bash", "-c", script, "swap", path.Join(ReleaseFolder, to.Kubernetes), programFolder); err != nil {
		return fmt.Errorf("swap the kubelet of %s: %w", n.name, err)
	}
	err = settle(ctx, "the node to be back", startWithin, func(ctx context.Context) []string {
		if missing := n.kubeletLacks(ctx, to); len(missing) > 0 {
			return missing
		}
		return n.lookBack(ctx, before)
	})
	if err == nil && n.role == clusters.ControlPlane {
		err = n.staysUp(ctx, to)
	}
	if err != nil {
		return fmt.Errorf("swap the kubelet of %s: %w", n.name, err)
	}
	return nil
}

// staysFor is how long the pods of a control plane must have been ready without interruption. A new kubelet restarts them some
// seconds after it has started to answer, and a restarted API server refuses every request until it has loaded its
// authorization rules.
const staysFor = 10 * time.Second

// staysUp returns when the control plane has been ready for staysFor.
func (n *Node) staysUp(ctx context.Context, to clusters.Release) error {
	var since time.Time
	return settle(ctx, "the control plane to stay ready", addonsWithin, func(ctx context.Context) []string {
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
			return []string{fmt.Sprintf("the control plane has been ready for only %s", whole.Round(time.Second))}
		}
		return nil
	})
}

// Upgraded checks every kubelet's version, proves the cluster usable, and stores the new version, so that a later Open knows
// it.
func (c *Cluster) Upgraded(ctx context.Context, to clusters.Release) error {
	for _, n := range c.nodes {
		if missing := n.kubeletLacks(ctx, to); len(missing) > 0 {
			return fmt.Errorf("check that cluster %s runs %s: %s", c.name, to.Kubernetes, strings.Join(missing, ", "))
		}
	}
	if err := c.Prove(ctx); err != nil {
		return err
	}
	r := c.record
	r.Spec.Kubernetes, r.Image = to.Kubernetes, to.Image
	if err := storeUpgrade(c.name, r); err != nil {
		return fmt.Errorf("store the version of cluster %s: %w", c.name, err)
	}
	c.record = r
	return nil
}

// own is this cluster's node of the same name.
func (c *Cluster) own(node clusters.Node) (*Node, error) {
	for _, n := range c.nodes {
		if n.name == node.Name() {
			return n, nil
		}
	}
	return nil, fmt.Errorf("upgrade %s: not a node of cluster %s", node.Name(), c.name)
}
