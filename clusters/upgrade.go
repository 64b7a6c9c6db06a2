package clusters

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/mod/semver"
)

// Upgrader is a cluster whose Kubernetes can be brought to a newer version in place, node by node, in the way that kubeadm
// documents. It does not drain: who upgrades decides what is disturbed, and when.
//
// Source: https://kubernetes.io/docs/tasks/administer-cluster/kubeadm/kubeadm-upgrade/
type Upgrader interface {
	Cluster
	// Fetch brings the programs and images of a version to every node. Nothing that runs changes. A version that cannot
	// be reached from the present one is refused, see CheckUpgrade.
	Fetch(ctx context.Context, to string) (Release, error)
	// UpgradeNode runs kubeadm on a node: what of Kubernetes runs there besides the kubelet becomes the version, and of the
	// first control plane also what the cluster as a whole runs, such as CoreDNS and kube-proxy. It returns when that was seen.
	UpgradeNode(ctx context.Context, node Node, to Release) error
	// SwapKubelet replaces the kubelet and kubectl, and returns when the new kubelet has said that it is Ready, and the node
	// is proven to be reached and to reach. Pods go on meanwhile.
	SwapKubelet(ctx context.Context, node Node, to Release) error
	// Upgraded says that every node is at the version, and proves the whole cluster anew. From then on Spec tells it.
	Upgraded(ctx context.Context, to Release) error
}

// Release is a version of Kubernetes that was brought to a cluster.
type Release struct {
	// Kubernetes is the version, for example "v1.37.0".
	Kubernetes string
	// Image is the node image it was taken from, Digest the engine's ID of that.
	Image, Digest string
	// Images are what the cluster's own pods run, by reference; the values are digests.
	Images map[string]string
}

// CheckUpgrade says why a cluster cannot be brought from one version to another in place. kubeadm goes up by one minor version
// at a time, or by patches, and never down.
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

// minorOf is the 37 of v1.37.0.
func minorOf(version string) (minor int) {
	_, _ = fmt.Sscanf(version, "v1.%d", &minor) // the pattern has seen to it
	return minor
}

// between names the minor versions that lie between two.
func between(from, to int) string {
	if to == from+2 {
		return fmt.Sprintf("v1.%d", from+1)
	}
	return fmt.Sprintf("v1.%d to v1.%d", from+1, to-1)
}
