// Package appcheck lists what of an application cannot work on the cluster of a test, before anything is created: what its objects refer to
// and nobody creates, what no node can take, and what only a cloud has.
//
// It reads the manifests, and asks no cluster. What only the API server can know, it says itself when the objects are applied.
package appcheck
