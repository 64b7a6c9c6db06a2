// Package appsource reads an application from all that a user can name: files, a kustomization, a Helm chart, and what comes before them.
//
// It renders charts with Helm itself, as it is on this machine, or compiled from its module. It asks no cluster.
package appsource
