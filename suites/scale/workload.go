package scale

import (
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// Large is a cluster with two real workers and 100 simulated nodes in three zones of their own.
var Large = clusters.Spec{Zones: []string{"a"}, WorkersPerZone: 2, SimulatedNodes: 100}

// replicas is so many that a drained node or a lost zone takes pods of the workload, and so few that most nodes have none.
const replicas = 60

// among is the workload among the pods that fill the simulated nodes. It has good practice: an even spread over zones that is required, one
// over nodes that is preferred, and a budget of one.
func among() *scenario.Simulated {
	return &scenario.Simulated{Backend: workloads.Backend{Replicas: replicas}, Pods: 1000}
}

// recovery is how soon 60 replicas are whole again: kwok reports a pod ready after two seconds at the latest.
const recovery = time.Minute
