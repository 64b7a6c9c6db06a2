// Package scale holds scenarios in a cluster with simulated nodes: faults among a hundred nodes and a thousand pods, beside a workload on
// real nodes that takes load. `make scale NODES=5000 PODS=150000` runs them at other sizes. One file per scenario.
package scale
