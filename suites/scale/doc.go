// Package scale holds scenarios in a cluster with simulated nodes: faults among a hundred nodes and a thousand pods, beside a workload on
// real nodes that takes load. `make scale SCENARIO=scale/drain NODES=500 PODS=5000` runs one of them at another size. One file per
// scenario.
package scale
