package clusters

import "time"

// MostSimulatedNodes is the largest number of simulated nodes: fewer than the pod network has address ranges for, and more than the 5,000 that
// Kubernetes supports in a cluster.
const MostSimulatedNodes = 10000

// SimulatedZones are the values of the zone label of simulated nodes. No real worker is in one of them, so that the outage of a simulated
// zone touches no real node.
func SimulatedZones() []string { return []string{"sim-a", "sim-b", "sim-c"} }

// PodsPerSimulatedNode is how many pods a simulated node takes: a range of 256 addresses has so many for pods. Kubernetes supports 110 pods on a
// node, and 30 on average at 150,000 pods on 5,000 nodes; a workload without a spread may put more on one.
const PodsPerSimulatedNode = 250

// EvictionsPerSecond is the number of nodes of a lost zone that lose their pods each second: --node-eviction-rate of kube-controller-manager where
// there are simulated nodes. By default it is one node every ten seconds, and the last of 1,000 nodes would lose its pods after three hours. The
// rate grows with the cluster up to ten, so that one of three zones is empty after about half a minute, or later with more than 1,000 nodes. Ten
// nodes of ten pods each were seen to be more than two cores replace in a second, and requests were late.
//
// Source: https://kubernetes.io/docs/concepts/architecture/nodes/#rate-limits-on-eviction
func EvictionsPerSecond(simulatedNodes int) int { return min(max(1, simulatedNodes/100), 10) }

// gracePerSimulatedNode is how long a node without heartbeats stays Ready for each simulated node of its cluster. A lease is renewed after
// two fifths of that time, so that the leases of any number of nodes are 50 writes a second. On two cores an API server was seen to take 75,
// and then nothing else: nodes were lost at random.
const gracePerSimulatedNode = 50 * time.Millisecond
