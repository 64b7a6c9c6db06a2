package scenario

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/workloads"
)

// SimulatedName is the name of the workload on simulated nodes.
const SimulatedName = "simulated"

// Simulated are the pods on the simulated nodes of a scenario's cluster. The Backend is on real nodes beside them, and takes the load.
type Simulated struct {
	// Backend is the workload into which the faults are injected in place of the scenario's Backend. Its name is SimulatedName.
	Backend workloads.Backend
	// Pods are all pods on simulated nodes. Those that are not of Backend are in Deployments which no fault is injected into.
	Pods int
}

// backend is the workload with its name and its place.
func (s Simulated) backend() workloads.Backend {
	s.Backend.Name, s.Backend.Simulated = SimulatedName, true
	return s.Backend.WithDefaults()
}

// Fill are the pods that are not of the workload.
func (s Simulated) Fill() workloads.Fill {
	return workloads.Fill{Pods: s.Pods - int(s.backend().Replicas)}
}

// aboutPerPod is how much longer a scenario takes for each further pod on simulated nodes. Measured on two cores with 5,000 nodes: they come in
// 30 ms and go in 3 to 17 ms.
const aboutPerPod = 40 * time.Millisecond

// On is the scenario on a cluster that differs from its own in its timings or in the number of its simulated nodes, and with so many pods on
// simulated nodes; 0 pods: as many as it has. Where it takes longer until a lost node is noticed, the faults last longer.
func (s Spec) On(c clusters.Spec, pods int) Spec {
	ofNodes := s.Stock || s.Simulated != nil // others do not wait until a lost node is noticed
	if later := lossNoticed(c) - lossNoticed(s.Cluster); ofNodes && s.Hold > 0 && later > 0 {
		s.Hold, s.About = s.Hold+later, s.About+later
	}
	s.Cluster = c
	if s.Simulated != nil && pods > 0 {
		simulated := *s.Simulated
		s.About += time.Duration(max(0, pods-simulated.Pods)) * aboutPerPod
		simulated.Pods = pods
		s.Simulated = &simulated
	}
	return s
}

// lossNoticed is how long the control plane takes to notice the loss of a node. With simulated nodes, it is the loss of a zone of them, until the
// pods of all of them are evicted.
func lossNoticed(c clusters.Spec) time.Duration {
	t := c.Timings()
	if c.SimulatedNodes == 0 {
		return t.NodeLossNoticed()
	}
	lost := c.SimulatedNodes / len(clusters.SimulatedZones())
	return t.NodeLossNoticed() + t.Toleration + time.Duration(lost)*time.Second/time.Duration(clusters.EvictionsPerSecond(c.SimulatedNodes))
}

// validateSimulated refuses what cannot be judged where nothing runs.
func (s Spec) validateSimulated() error {
	switch {
	case s.Simulated == nil && s.Cluster.SimulatedNodes > 0:
		return errors.New("simulated nodes, and no workload on them")
	case s.Simulated == nil && s.Backend.Simulated:
		return errors.New("the backend is on simulated nodes, where nothing answers a request: say so in Simulated, which has no load")
	case s.Simulated == nil:
		return nil
	case s.Cluster.SimulatedNodes == 0:
		return errors.New("a workload on simulated nodes, and its cluster has none")
	case s.App != nil || s.Trials != 0 || s.PinTo != 0:
		return errors.New("beside simulated nodes there are no trials, pinned pods or applications of users")
	case s.Backend.Simulated:
		return errors.New("the backend is on simulated nodes, where nothing answers a request, and takes the load")
	}
	least, most := int(s.Simulated.backend().Replicas), s.Cluster.SimulatedNodes*clusters.PodsPerSimulatedNode
	if n := s.Simulated.Pods; n < least || n > most {
		return fmt.Errorf("%d pods on simulated nodes: want from %d, which the workload has, to %d, which %d nodes take", n, least, most, s.Cluster.SimulatedNodes)
	}
	return nil
}
