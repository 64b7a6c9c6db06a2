// Package mirror is the registry that a cluster's nodes get an application's images from. It runs on the load node, which no fault
// touches, as a service of systemd and not as a pod, so that nothing of it is to be seen in the cluster under test. Each node's containerd
// asks it in place of every registry, so references, digests and pull policies stay as the manifests have them.
//
// It does not find images; package appimages gathers them.
package mirror
