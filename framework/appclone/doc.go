// Package appclone copies an application from the namespace of a cluster that it runs in: what its manifests would be.
//
// It only reads. Every request that is not a GET is refused before it is sent, and Secrets are never asked for.
package appclone
