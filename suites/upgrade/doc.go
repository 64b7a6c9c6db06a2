// Package upgrade holds the scenario in which a cluster is brought to another version of Kubernetes while requests flow. It needs
// two versions, so it is part of no scope; holdfast certify runs it.
package upgrade
