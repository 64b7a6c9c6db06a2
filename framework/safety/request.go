package disturb

import (
	"cmp"
	"time"

	"github.com/holdfast-ha/holdfast/framework/safety/catalogue"
)

// The limits of what a file can ask for.
const (
	// DefaultPods is how many pods of a workload may be away at a time.
	DefaultPods = 1
	// DefaultDuration is the time box of each fault. MaxDuration bounds it, and the sum over all faults as well.
	DefaultDuration = 5 * time.Minute
	MaxDuration     = 2 * time.Hour
	// MinDuration is long enough to evict a pod and to see its replacement.
	MinDuration = 30 * time.Second
	// DefaultFailures is how many requests may fail during a fault, which is then undone at once.
	DefaultFailures = 50
	// GentleRate is how many requests a second each lane sends until the file says otherwise.
	GentleRate = 10
)

// Request is what the user asks for, by the command line and by the file.
type Request struct {
	// UID is the UID of namespace kube-system in the cluster that the file is for.
	UID string
	// Context is the context that the command line names; empty: it names none.
	Context string
	// Disturb is the operator's key: the flag --disturb.
	Disturb bool
	// Namespace is that of the application, and Home is holdfast's own.
	Namespace, Home string
	// Workloads are the Deployments and StatefulSets under test, by kind and name.
	Workloads []Object
	Faults    []catalogue.Fault
	Limits    Limits
	Hook      Hook
	Load      []Load
	// Seed picks victims. The same seed picks the same ones of the same Snapshot.
	Seed uint64
}

// Limits bound what is done.
type Limits struct {
	Pods       int           // of a workload that may be away at a time
	Failures   int           // requests that may fail during a fault, which is then undone
	Duration   time.Duration // of each fault, after which it is undone
	Window     *Window       // in which it may be done; nil: at any time
	Neighbours []string      // namespaces whose pods may be evicted with a node
	// ScaleVolumes are the StatefulSets that may be scaled although each of their replicas has volumes of its own.
	ScaleVolumes []string
	// TrustRegistry says that images can be pulled again, so that a victim's image need not be on another node.
	TrustRegistry bool
}

// WithDefaults are the limits with their defaults.
func (l Limits) WithDefaults() Limits {
	l.Pods = cmp.Or(l.Pods, DefaultPods)
	l.Duration = cmp.Or(l.Duration, DefaultDuration)
	l.Failures = cmp.Or(l.Failures, DefaultFailures)
	return l
}

// Hook are the commands of the user's own that take a node away and bring it back.
type Hook struct{ Command, Undo string }

// Load is a lane of the load.
type Load struct {
	Name string
	Rate float64 // requests a second
	// Asked says that the file gives the rate, and Secret that a header comes from a Secret.
	Asked, Secret bool
}
