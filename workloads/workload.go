package workloads

import "github.com/holdfast-ha/holdfast/workloads/expect"

// Workload is what is deployed and tested: the sample Backend, or an application of the user's own.
type Workload interface {
	// Validate returns an error if the workload cannot be deployed.
	Validate() error
	// Objects to create, in order. The namespace is not among them.
	Objects(at Place) ([]Object, error)
	// Controllers create the pods. They are complete before requests are sent, and faults are injected into them.
	Controllers() []Controller
	// Probes are where requests are sent.
	Probes() []Probe
}

// Controller is an object that creates pods.
type Controller struct {
	Name string
	// Kind is that of the object; empty: a Deployment.
	Kind string
}

// The kinds of Controllers, as the API spells them.
const (
	Deployment  = "Deployment"
	StatefulSet = "StatefulSet"
	DaemonSet   = "DaemonSet"
)

// Probe is a place that requests are sent to, and the answer that is expected from there.
type Probe struct {
	// Service and Port lead to the workload.
	Service string
	Port    int32
	Path    string // default "/"
	Expect  expect.Answer
}

var _ Workload = Backend{}

// Controllers implements Workload.
func (b Backend) Controllers() []Controller {
	c := Controller{Name: b.WithDefaults().Name}
	if b.StatefulSet {
		c.Kind = StatefulSet
	}
	return []Controller{c}
}

// Probes implements Workload. The backend's own answer is the zero one.
func (b Backend) Probes() []Probe {
	return []Probe{{Service: b.WithDefaults().Name, Port: ServicePort, Path: "/"}}
}
