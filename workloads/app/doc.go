// Package app is an application of the user's own: its manifests, and what a test must know of them, such as which workload is behind
// which Service.
//
// It reads files, and starts no program but helm, which renders a chart. It sends nothing to a cluster; package environment does.
package app
