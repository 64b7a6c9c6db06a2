// Package appimages gathers the images of an application, before any cluster exists: from archives, from the local container engine, or
// by a pull from a registry with the user's own credentials. The references in manifests stay as they are, so each image is kept under
// the name, and with the digest, by which the manifests ask for it.
//
// What it gathers is a folder with an OCI image layout. It sends nothing to a cluster; package mirror does.
package appimages
