// Package upgrade holds the scenario that upgrades a cluster to another version of Kubernetes while requests flow. It needs two
// versions, so it belongs to no scope; `holdfast certify` runs it.
package upgrade
