package clusters

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/mod/semver"
)

// Upgrader is a cluster whose Kubernetes can be upgraded in place, node by node, as kubeadm documents it. An Upgrader does not
// drain nodes: the caller decides what is disturbed, and when.
//
// Source: https://kubernetes.io/docs/tasks/administer-cluster/kubeadm/kubeadm-upgrade/
type Upgrader interface {
	Cluster
	// Fetch copies the binaries and images of a version to every node. Running processes are not changed. Fetch refuses a
	// version that cannot be reached from the current one, see CheckUpgrade.
	Fetch(ctx context.Context, to string) (Release, error)
	// UpgradeNode runs kubeadm on a node, which upgrades everything of Kubernetes on the node except the kubelet. On the first
	// control plane, kubeadm also upgrades cluster add-ons such as CoreDNS and kube-proxy. For a control plane, UpgradeNode
	// returns when the new pods were seen ready.
	UpgradeNode(ctx context.Context, node Node, to Release) error
	// SwapKubelet replaces the kubelet, kubectl and kubeadm. It returns when the new kubelet has reported Ready, and network
	// probes to and from the node succeed. Pods keep running meanwhile.
	SwapKubelet(ctx context.Context, node Node, to Release) error
	// Upgraded checks that every node is at the version, and proves the whole cluster usable again. Afterwards Spec has the new
	// version.
	Upgraded(ctx context.Context, to Release) error
}

// Release is a version of Kubernetes that Fetch has copied to a cluster.
type Release struct {
	// Kubernetes is the version, for example "v1.37.0".
	Kubernetes string
	// Image is the node image that the release was taken from. Digest is the engine's ID of that image.
	Image, Digest string
	// Images are the images of the cluster's system pods: references to digests.
	Images map[string]string
}

// CheckUpgrade returns an error if a cluster cannot be upgraded in place from one version to another. kubeadm upgrades to the
// next minor version or to a newer patch, and does not downgrade.
//
// Source: https://kubernetes.io/releases/version-skew-policy/
func CheckUpgrade(from, to string) error {
	for _, version := range []string{from, to} {
		if !versionPattern.MatchString(version) {
			return badVersion(version)
		}
	}
	fromMinor, toMinor := minorOf(from), minorOf(to)
	why := ""
	switch {
	case semver.Compare(from, to) == 0:
		why = "that is the same version"
	case semver.Compare(from, to) > 0:
		why = "that is a downgrade, which Kubernetes does not support: make a new cluster of the older version"
	case toMinor > fromMinor+1:
		why = fmt.Sprintf("that skips %s, and kubeadm goes up by one minor version at a time: upgrade to the newest v1.%d first",
			between(fromMinor, toMinor), fromMinor+1)
	default:
		return nil
	}
	return fmt.Errorf("upgrade from %s to %s: %w", from, to, errors.New(why))
}

// minorOf is the minor version: 37 for v1.37.0.
func minorOf(version string) (minor int) {
	_, _ = fmt.Sscanf(version, "v1.%d", &minor) // versionPattern has matched it
	return minor
}

// between lists the minor versions between two minor versions.
func between(from, to int) string {
	if to == from+2 {
		return fmt.Sprintf("v1.%d", from+1)
	}
	return fmt.Sprintf("v1.%d to v1.%d", from+1, to-1)
}
