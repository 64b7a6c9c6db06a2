// Package emit makes what runs the patrol in a cluster: its manifests with the smallest role, the rules by which Prometheus alerts, and a
// dashboard.
//
// It applies nothing, and needs no cluster. What the metrics mean is in package patrol.
package emit
