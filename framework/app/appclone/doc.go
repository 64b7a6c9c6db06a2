// Package appclone copies an application from the namespace of a cluster that it runs in: what its manifests would be.
//
// It only reads, and asks for no Secret. Whoever calls it gives it a client that can do nothing else: see existing.ReadOnly.
package appclone
