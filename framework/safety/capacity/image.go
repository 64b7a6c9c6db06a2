package capacity

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/framework/deploy/images"
)

// containersOf are the names and images of all containers of a pod.
func containersOf(p corev1.Pod) []corev1.Container {
	return slices.Concat(p.Spec.InitContainers, p.Spec.Containers)
}

// PullsAlways is the first container whose image is pulled each time that it starts; empty: none is.
func PullsAlways(p corev1.Pod) string {
	for _, c := range containersOf(p) {
		if c.ImagePullPolicy == corev1.PullAlways {
			return c.Name
		}
	}
	return ""
}

// MissingImage is the first image of a pod that a node does not list; empty: it lists all of them. A kubelet lists its 50 largest images
// unless it is told otherwise, so a node may have an image that it does not list.
//
// Source: nodeStatusMaxImages of the kubelet's configuration
func MissingImage(p corev1.Pod, n *corev1.Node) string {
	for _, c := range containersOf(p) {
		if !slices.ContainsFunc(n.Status.Images, func(i corev1.ContainerImage) bool {
			return slices.ContainsFunc(i.Names, func(name string) bool { return sameImage(name, c.Image) })
		}) {
			return c.Image
		}
	}
	return ""
}

// sameImage reports whether two names mean the same image: a node writes docker.io/library/nginx:1.25 for nginx:1.25.
func sameImage(a, b string) bool {
	if a == b {
		return true
	}
	one, errA := images.ParseName(a)
	other, errB := images.ParseName(b)
	return errA == nil && errB == nil && one == other
}
