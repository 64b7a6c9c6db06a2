// Package images gathers the images of an application, before any cluster exists: from archives, from the local container engine, or
// by a pull from a registry with the user's own credentials. The references in manifests stay as they are, so each image is kept under
// the name, and with the digest, by which the manifests ask for it. What it gathers is a folder with an OCI image layout.
//
// A mirror serves the images to the nodes of a cluster. It runs on the load node, which no fault touches, as a service of systemd and not as a pod,
// so that nothing of it is to be seen in the cluster under test. Each node's containerd asks it in place of every registry.
package images
