// Package kwok adds simulated nodes to a kind cluster: nodes without a machine, of which kwok keeps the leases, and whose pods it reports
// ready. The control plane treats them as any other node, so that a cluster of thousands of nodes fits on one machine beside the few real
// ones.
//
// A simulated node can be lost and come back. It runs nothing: no pod on it answers, and what needs a machine returns
// clusters.ErrSimulated. The package makes no workloads and injects no faults.
package kwok
