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
	return workloads.Fill{Pods: max(0, s.Pods-int(s.backend().Replicas))}
}

// Resized is the scenario on so many simulated nodes and with so many pods on them; 0 leaves a number as it is. A scenario without
// simulated nodes stays as it is.
func (s Spec) Resized(nodes, pods int) Spec {
	if s.Simulated == nil {
		return s
	}
	simulated := *s.Simulated
	if pods > 0 {
		simulated.Pods = pods
	}
	if nodes > 0 {
		before := s.Cluster
		s.Cluster.SimulatedNodes = nodes
		if s.Hold > 0 {
			s.Hold += max(0, lossOfZone(s.Cluster)-lossOfZone(before))
		}
	}
	s.Simulated = &simulated
	return s
}

// evictedPerSecond is how many nodes of a lost zone lose their pods in a second: --node-eviction-rate of clusters with simulated nodes.
const evictedPerSecond = 10

// lossOfZone is how long the control plane takes to notice the loss of a zone of simulated nodes, and to evict the pods of all of them.
func lossOfZone(c clusters.Spec) time.Duration {
	lost := c.SimulatedNodes / len(clusters.SimulatedZones())
	return c.Timings().NodeLossNoticed() + time.Duration(lost)*time.Second/evictedPerSecond
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
	case s.Simulated.Pods < 0:
		return fmt.Errorf("%d pods on simulated nodes", s.Simulated.Pods)
	}
	return nil
}
