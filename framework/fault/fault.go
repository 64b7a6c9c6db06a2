// Package fault disrupts a cluster and reverts the disruption, one file per fault.
//
// It does not decide when a fault is injected (package scenario does), and it judges nothing (package invariant does).
package fault

import (
	"context"
	"math/rand/v2"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/history"
)

// Fault is something that is done to a cluster. Injection runs it.
type Fault interface {
	// String names the fault in a report, for example "drain one worker".
	String() string
	// Plan picks what the fault will disrupt. It changes nothing.
	Plan(ctx context.Context, target Target) (Disruption, error)
}

// Disruption is a planned fault. Most faults return an *Effect, which implements the optional interfaces as well.
type Disruption interface {
	// Apply disrupts the target. That it returns proves nothing: Active does.
	Apply(ctx context.Context) error
	// Active asks once whether the disruption is in force. The answer comes from an independent witness, never from the API call
	// that disrupted the target. An error means that the witness could not look, and says nothing about the disruption.
	Active(ctx context.Context) (active bool, seen Observation, err error)
	// Revert undoes the disruption, also half of one. It may be called again, and after the context of Apply has ended.
	Revert(ctx context.Context) error
}

// Observation is what a witness saw.
type Observation struct {
	// Nodes and Pods are the names of those that the fault affects.
	Nodes, Pods []string
	// Witness is what was seen, in words.
	Witness string
	// Hit is how many of the witness's probes were affected by a fault that removes nothing, such as packet loss: no watch of the
	// cluster can see it.
	Hit int
	// Processes is how many processes of a component ran before and are gone: no watch of the cluster can see it.
	Processes int
}

// RevertImmediately is a fault that is reverted as soon as it was seen, before the next fault begins. Other faults stay in force
// until the last fault was seen.
type RevertImmediately struct{ Fault }

// Target is what a fault may disrupt.
type Target struct {
	Cluster clusters.Cluster
	Client  kubernetes.Interface
	// Dynamic serves the kinds for which Client has no types.
	Dynamic   dynamic.Interface
	Namespace string
	// Workload is the name of the Deployment under test, or of the StatefulSet or DaemonSet. Kind says which; empty: a Deployment.
	Workload string
	Kind     string
	// Services lead to the workload's pods. nil: the Service with the workload's name. Empty: none does.
	Services []string
	// SchedulableReplicas is for how many replicas the scheduler can find a node under the workload's own rules. 0: for all.
	SchedulableReplicas int
	// Rand picks victims. It is seeded by the run, so that a run can be repeated as far as Answered allows.
	Rand *rand.Rand
	// Answered returns the pods that have just answered on each lane of the load. It is nil where there is no load.
	Answered func(context.Context) (map[history.Lane][]string, error)
	Record   Recorder
}

// Recorder writes what a fault does, beyond what its witness sees, into the record of the run.
type Recorder interface {
	// Step runs one of a fault's steps, and records when it began, when it ended and its error. It returns what do returns.
	Step(step history.Step, do func() error) error
	// Note records an event. The recorder sets the event's time, and the fault's number in it.
	Note(event history.Event)
}
