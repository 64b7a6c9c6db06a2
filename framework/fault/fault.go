// Package fault takes things away from a cluster and gives them back, one file a fault.
//
// It does not decide what is disturbed when (package scenario does) and judges nothing (package invariant does).
package fault

import (
	"context"
	"math/rand/v2"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/history"
)

// Fault is something done to a cluster.
type Fault interface {
	// String names it in a report, for example "drain one worker".
	String() string
	// Inject disturbs the target and returns when an independent witness has seen the disturbance, not when an API call
	// returned. The heal it returns undoes the disturbance, returns when the witness has seen that too, may be called
	// after the context of Inject has ended, and is not nil even when err is not: what was half done is undone.
	Inject(ctx context.Context, target Target) (heal Heal, err error)
}

// Brief is a fault that is undone as soon as it was seen, before the next one begins. Others stay in force until the last was seen.
type Brief struct{ Fault }

// Heal undoes a fault. Calling it again does nothing.
type Heal func(context.Context) error

// Target is what a fault may touch.
type Target struct {
	Cluster clusters.Cluster
	Client  kubernetes.Interface
	// Dynamic reaches what Client has no types for.
	Dynamic   dynamic.Interface
	Namespace string
	// Workload names the Deployment under test, or the StatefulSet.
	Workload    string
	StatefulSet bool
	// Room is how many of its replicas its own rules leave room for; the scheduler finds no node for more. 0: for all.
	Room int
	// Rand picks victims: seeded by the run, so that a run can be repeated, as far as Answered allows.
	Rand *rand.Rand
	// Answered tells which pods have just answered on each lane of the load; nil where there is none.
	Answered func(context.Context) (map[history.Lane][]string, error)
	// Record takes what the fault and its witness saw.
	Record Recorder
}

// Lasting asks the witness of a fault that was seen whether it is still in force, and what it saw, in words. It looks once.
// That it could not look is an error, and says nothing of the fault. What another fault of the same scenario does to this
// one is no end of it.
type Lasting func(context.Context) (holds bool, saw string, err error)

// Recorder takes what a fault and its witness saw.
type Recorder interface {
	// Seen says which nodes and pods were bitten and what the witness saw, in words.
	Seen(nodes, pods []string, witness string)
	// Hit says, before Seen, how many of its witness's probes were hit by a fault that takes nothing away, such as a loss of
	// packets: no watch of the cluster sees one.
	Hit(probes int)
	// Gone says, before Seen, how many processes of a component ran before and are gone: no watch of the cluster sees one.
	Gone(processes int)
	// Lasts names who is to be asked, before the undo begins, whether what was seen is still in force. A fault that is over
	// as soon as it was seen has nobody to ask.
	Lasts(Lasting)
	// Step does one step of a fault that takes many, and writes down when it began, when it ended and how it failed. It returns what
	// do returns.
	Step(step history.Step, do func() error) error
	// Tried says what the API server answered to a manifest.
	Tried(answer history.Admission)
	// Healed says what the witness saw after the undo.
	Healed(witness string)
	// Audited takes what a look for single points of failure found.
	Audited(history.Audit)
	// Reached takes how the API server was reached by one way while the fault was on; it numbers the fault itself.
	Reached(history.Reach)
}
