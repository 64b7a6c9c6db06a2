package workloads

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/workloads/backend"
	"github.com/holdfast-ha/holdfast/workloads/serve"
)

// Backend is the workload under test: a Deployment, its Service and its PodDisruptionBudget, all with the same name. A zero
// field means its default, and the defaults are good practice: Backend{} loses no request to a voluntary disruption.
type Backend struct {
	Name     string `json:"name,omitempty"`     // default "backend"
	Replicas int32  `json:"replicas,omitempty"` // default 6
	// Revision is an arbitrary text; changing it makes a new revision of the Deployment.
	Revision string `json:"revision,omitempty"`
	// StatefulSet makes it a StatefulSet, whose pods keep their names; Strategy must be empty then.
	StatefulSet bool `json:"statefulSet,omitempty"`

	// Spread defaults to an even spread over zones (required) and over nodes (preferred); NoSpread: no constraint.
	Spread   []Spread   `json:"spread"`
	Affinity []Affinity `json:"affinity,omitempty"`
	// AnyNode allows every node whose taints the pods tolerate; otherwise only workers, by holdfast.dev/role=worker.
	AnyNode bool `json:"anyNode,omitempty"`
	// NodeSelector restricts the nodes further. OnNode is the node that all replicas go to. PastScheduler sets it as
	// spec.nodeName, which bypasses the scheduler.
	// Simulated puts the pods on simulated nodes, where nothing runs: they are ready, and answer no request.
	Simulated     bool              `json:"simulated,omitempty"`
	NodeSelector  map[string]string `json:"nodeSelector,omitempty"`
	OnNode        string            `json:"onNode,omitempty"`
	PastScheduler bool              `json:"pastScheduler,omitempty"`

	Budget    Budget    `json:"budget"`
	Strategy  Strategy  `json:"strategy"`
	Readiness Readiness `json:"readiness"`
	Resources Resources `json:"resources"`
	// ResizeRestarts makes a CPU resize restart the container; otherwise the container keeps running.
	// Source: https://kubernetes.io/docs/tasks/configure-pod-container/resize-container-resources/#container-resize-policies
	ResizeRestarts bool `json:"resizeRestarts,omitempty"`

	// PreStop is the preStop sleep in whole seconds: time for clients and proxies to stop using the pod before its SIGTERM.
	// Default 3 s; measured: with 1 s requests were lost. NoPreStop: none.
	PreStop time.Duration `json:"preStop,omitempty"`
	// AtTerm is what the server does at SIGTERM; default Drain.
	AtTerm AtTerm `json:"atTerm,omitempty"`
	// GracePeriod is the termination grace period, PreStop included; default 30 s.
	GracePeriod time.Duration `json:"gracePeriod,omitempty"`

	// StartDelay is the time between a server's start and its first answer. ServiceTime is the delay before each answer.
	// EndingTime replaces ServiceTime while the server drains, for a server that has given up what made it fast, such as a
	// cache or a connection pool; 0: ServiceTime.
	StartDelay  time.Duration `json:"startDelay,omitempty"`
	ServiceTime time.Duration `json:"serviceTime,omitempty"`
	EndingTime  time.Duration `json:"endingTime,omitempty"`
	// Work is the CPU time that each answer takes; autoscalers react to it.
	Work time.Duration `json:"work,omitempty"`
	// CloseAfter closes a connection cleanly after this number of requests; 0: never.
	CloseAfter int `json:"closeAfter,omitempty"`
	// NodePort also exposes the Service on this port of every node; 0: no node port.
	NodePort int32 `json:"nodePort,omitempty"`
	// NodePortLocal sets externalTrafficPolicy to Local: a node forwards connections to that port only to its own pods, so
	// a health check of the port shows whether that node can serve. Otherwise every node forwards to pods anywhere,
	// including pods on dead nodes.
	// Source: https://kubernetes.io/docs/reference/networking/virtual-ips/#external-traffic-policy
	NodePortLocal bool `json:"nodePortLocal,omitempty"`
}

// AtTerm is what a server does at SIGTERM.
type AtTerm = serve.AtTerm

// What a server can do at SIGTERM; see package serve.
const (
	Drain         = serve.Drain
	Shutdown      = serve.Shutdown
	Drop          = serve.Drop
	Hold          = serve.Hold
	DropUntrapped = serve.DropUntrapped
	HoldUntrapped = serve.HoldUntrapped
)

// NoPreStop sends SIGTERM immediately, while clients still connect.
const NoPreStop time.Duration = -1

// Readiness configures the readiness probe.
type Readiness struct {
	// Off: no probe. A pod counts as ready as soon as its process runs.
	Off              bool          `json:"off,omitempty"`
	Period           time.Duration `json:"period,omitempty"`           // default 1 s
	FailureThreshold int32         `json:"failureThreshold,omitempty"` // default 3
}

// NoReadiness lets requests reach pods that do not listen yet.
var NoReadiness = Readiness{Off: true}

// probeTimeoutSeconds is the time-out of a readiness probe: on a busy machine a ready pod may answer late.
const probeTimeoutSeconds = 2

func (r Readiness) withDefaults() Readiness {
	defaultTo(&r.Period, time.Second)
	defaultTo(&r.FailureThreshold, 3)
	return r
}

// WithDefaults sets empty fields to their defaults.
func (b Backend) WithDefaults() Backend {
	defaultTo(&b.Name, "backend")
	defaultTo(&b.Replicas, 6)
	if b.Spread == nil {
		b.Spread = slices.Clone(defaultSpread)
	}
	b.Budget = b.Budget.withDefaults()
	defaultTo(&b.Strategy.MaxSurge, "25%")
	defaultTo(&b.Strategy.MaxUnavailable, "0")
	b.Readiness = b.Readiness.withDefaults()
	b.Resources = b.Resources.withDefaults("5m", "16Mi", "128Mi")
	defaultTo(&b.PreStop, 3*time.Second)
	defaultTo(&b.AtTerm, Drain)
	defaultTo(&b.GracePeriod, 30*time.Second)
	return b
}

func defaultTo[T comparable](value *T, otherwise T) {
	var zero T
	if *value == zero {
		*value = otherwise
	}
}

// Validate returns an error if the options are invalid.
func (b Backend) Validate() error {
	stateful := b.validateStateful() // before WithDefaults sets the strategy
	b = b.WithDefaults()
	if err := errors.Join(stateful, b.validate()); err != nil {
		return fmt.Errorf("backend %s: %w", b.Name, err)
	}
	return nil
}

func (b Backend) validate() error {
	switch {
	case b.Replicas < 0:
		return fmt.Errorf("%d replicas", b.Replicas)
	case b.GracePeriod < 0 || b.GracePeriod <= b.PreStop:
		return fmt.Errorf("grace period %s: a preStop sleep of %s leaves no time to shut down", b.GracePeriod, b.PreStop)
	case b.NodePort != 0 && (b.NodePort < 30000 || b.NodePort > 32767):
		return fmt.Errorf("node port %d: want 30000 to 32767", b.NodePort)
	case min(b.StartDelay, b.ServiceTime, b.EndingTime, b.Work) < 0 || b.Readiness.Period < 0:
		return fmt.Errorf("start delay %s, service time %s, ending time %s, work %s, readiness period %s: must not be negative",
			b.StartDelay, b.ServiceTime, b.EndingTime, b.Work, b.Readiness.Period)
	}
	for _, s := range b.Spread {
		if err := s.validate(); err != nil {
			return err
		}
	}
	for _, a := range b.Affinity {
		if err := a.validate(); err != nil {
			return err
		}
	}
	if err := b.Strategy.validate(); err != nil {
		return err
	}
	if err := b.Budget.validate(); err != nil {
		return err
	}
	if err := b.Resources.validate(); err != nil {
		return err
	}
	return b.server().Serve.Validate()
}

// server is the configuration of the process in the pod.
func (b Backend) server() backend.Options {
	return backend.Options{
		StartDelay: b.StartDelay, ServiceTime: b.ServiceTime, EndingTime: b.EndingTime, Work: b.Work,
		Serve: serve.Options{AtTerm: b.AtTerm, CloseAfter: b.CloseAfter, Limit: ending(b.GracePeriod, b.PreStop)},
	}
}

// ending is the limit for a server's shutdown if the grace period leaves less than the default limit. Two seconds of the
// grace period are reserved for exiting and rounding. 0: the default.
func ending(grace, preStop time.Duration) time.Duration {
	if rest := grace - max(preStop, 0) - 2*time.Second; rest < serve.DefaultLimit {
		return max(rest, time.Second)
	}
	return 0
}

// Objects to create, in order. The namespace is not among them.
func (b Backend) Objects(at Place) ([]Object, error) {
	if err := b.Validate(); err != nil {
		return nil, err
	}
	b = b.WithDefaults()
	meta := at.meta(b.Name, ComponentBackend)
	var objects []Object
	if budget := b.Budget.object(meta); budget != nil { // first, so that no pod exists without it
		objects = append(objects, budget)
	}
	return append(objects, service(meta, b.NodePort, b.NodePortLocal), b.controller(meta, at)), nil
}

// controller is the object that creates the pods.
func (b Backend) controller(meta metav1.ObjectMeta, at Place) Object {
	if b.StatefulSet {
		return statefulSet(meta, b.Replicas, b.template(at))
	}
	return deployment(meta, b.Replicas, b.Strategy, b.template(at))
}

func (b Backend) template(at Place) corev1.PodTemplateSpec {
	template := pod{
		name: b.Name, component: ComponentBackend, args: b.server().Args(), resources: b.Resources, revision: b.Revision,
		preStop: b.PreStop, grace: b.GracePeriod, readiness: b.Readiness, readyPath: serve.ReadyPath,
		stateful: b.StatefulSet, resizeRestarts: b.ResizeRestarts,
	}.template(at)
	template.Spec.NodeSelector = map[string]string{}
	if !b.AnyNode {
		template.Spec.NodeSelector = onRole(roleWorker)
	}
	if b.Simulated {
		template.Spec.NodeSelector, template.Spec.Tolerations = onRole(roleSimulated), simulatedTolerations()
	}
	maps.Copy(template.Spec.NodeSelector, b.NodeSelector)
	switch {
	case b.PastScheduler:
		template.Spec.NodeName = b.OnNode
	case b.OnNode != "":
		template.Spec.NodeSelector[Host] = b.OnNode
	}
	template.Spec.Affinity = affinity(b.Affinity, b.Name)
	for _, s := range b.Spread {
		if b.StatefulSet && s.MatchLabelKeys == nil {
			s.MatchLabelKeys = []string{} // revisions are spread together, so a replacement goes where its predecessor was
		}
		template.Spec.TopologySpreadConstraints = append(template.Spec.TopologySpreadConstraints, s.constraint(b.Name))
	}
	return template
}
