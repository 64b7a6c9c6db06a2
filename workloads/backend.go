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

// Backend is the workload under test: a Deployment, its Service and its budget, all of one name. A zero field means its
// default, and the defaults are good practice: Backend{} loses no request to a voluntary disruption.
type Backend struct {
	Name     string `json:"name,omitempty"`     // default "backend"
	Replicas int32  `json:"replicas,omitempty"` // default 6
	// Revision is anything: another one is another revision of the Deployment.
	Revision string `json:"revision,omitempty"`
	// StatefulSet makes that a StatefulSet, whose pods keep their names; Strategy must be empty then.
	StatefulSet bool `json:"statefulSet,omitempty"`

	// Spread defaults to even zones, and even nodes where possible; NoSpread: none.
	Spread   []Spread   `json:"spread"`
	Affinity []Affinity `json:"affinity,omitempty"`
	// AnyNode lets them go to every node whose taints let them; else only to workers, by holdfast.dev/role=worker.
	AnyNode bool `json:"anyNode,omitempty"`
	// NodeSelector narrows that down. OnNode names the one node that all replicas go to; PastScheduler writes it into their
	// spec, so that no scheduler is asked.
	NodeSelector  map[string]string `json:"nodeSelector,omitempty"`
	OnNode        string            `json:"onNode,omitempty"`
	PastScheduler bool              `json:"pastScheduler,omitempty"`
	// Toleration is how long a pod stays bound to a lost node; 0: as the cluster says.
	Toleration time.Duration `json:"toleration,omitempty"`

	Budget    Budget    `json:"budget"`
	Strategy  Strategy  `json:"strategy"`
	Readiness Readiness `json:"readiness"`
	Resources Resources `json:"resources"`
	// ResizeRestarts has a resize of the processor time restart the container; else it goes on running.
	// Source: https://kubernetes.io/docs/tasks/configure-pod-container/resize-container-resources/#container-resize-policies
	ResizeRestarts bool `json:"resizeRestarts,omitempty"`

	// PreStop passes between the decision to end a pod and its SIGTERM, in whole seconds: time for clients and proxies to
	// look elsewhere. Default 3 s, measured: 1 s lost requests. NoPreStop: none.
	PreStop time.Duration `json:"preStop,omitempty"`
	// AtTerm is what the server does at SIGTERM; default Drain.
	AtTerm AtTerm `json:"atTerm,omitempty"`
	// GracePeriod is how long a pod has to end, PreStop included, before it is killed; default 30 s.
	GracePeriod time.Duration `json:"gracePeriod,omitempty"`

	// StartDelay passes between a server's start and its first answer, ServiceTime before each answer; EndingTime does instead
	// while it drains: it has given up what made it fast, such as a cache or a pool of connections. 0: ServiceTime.
	StartDelay  time.Duration `json:"startDelay,omitempty"`
	ServiceTime time.Duration `json:"serviceTime,omitempty"`
	EndingTime  time.Duration `json:"endingTime,omitempty"`
	// Work is how much processor time each answer takes: what an autoscaler sees.
	Work time.Duration `json:"work,omitempty"`
	// CloseAfter so many requests a connection is closed, in order; 0: never.
	CloseAfter int `json:"closeAfter,omitempty"`
	// NodePort also offers the Service on this port of every node; 0: it does not.
	NodePort int32 `json:"nodePort,omitempty"`
	// NodePortLocal: a node answers on that port only with its own pods, so that a health check of the port tells whether
	// that node can serve. Otherwise every node passes requests on to pods anywhere, on dead nodes too.
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

// NoPreStop sends SIGTERM at once, while clients still connect.
const NoPreStop time.Duration = -1

// Readiness says how the kubelet asks whether a pod can serve.
type Readiness struct {
	// Off: nobody asks. A pod counts as ready as soon as its process runs.
	Off              bool          `json:"off,omitempty"`
	Period           time.Duration `json:"period,omitempty"`           // default 1 s
	FailureThreshold int32         `json:"failureThreshold,omitempty"` // default 3
}

// NoReadiness sends requests to pods that do not listen yet.
var NoReadiness = Readiness{Off: true}

// probeTimeoutSeconds of a readiness probe: a machine that is busy answers late, and is no less ready.
const probeTimeoutSeconds = 2

func (r Readiness) withDefaults() Readiness {
	defaultTo(&r.Period, time.Second)
	defaultTo(&r.FailureThreshold, 3)
	return r
}

// WithDefaults fills in what was left empty.
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

// Validate says what of a backend makes no sense.
func (b Backend) Validate() error {
	stateful := b.validateStateful() // of what was asked for
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
		return fmt.Errorf("grace period %s: a preStop sleep of %s leaves no time to end", b.GracePeriod, b.PreStop)
	case b.NodePort != 0 && (b.NodePort < 30000 || b.NodePort > 32767):
		return fmt.Errorf("node port %d: want 30000 to 32767", b.NodePort)
	case min(b.StartDelay, b.ServiceTime, b.EndingTime, b.Work) < 0 || b.Toleration < 0 || b.Readiness.Period < 0:
		return fmt.Errorf("start delay %s, service time %s, ending time %s, work %s, toleration %s, readiness period %s: must not be negative",
			b.StartDelay, b.ServiceTime, b.EndingTime, b.Work, b.Toleration, b.Readiness.Period)
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

// server is how the process in the pod is told to behave.
func (b Backend) server() backend.Options {
	return backend.Options{
		StartDelay: b.StartDelay, ServiceTime: b.ServiceTime, EndingTime: b.EndingTime, Work: b.Work,
		Serve: serve.Options{AtTerm: b.AtTerm, CloseAfter: b.CloseAfter, Limit: ending(b.GracePeriod, b.PreStop)},
	}
}

// ending is the limit of a server's end, where a grace period leaves less than its default: two seconds of it are for
// exits and rounding. 0: the default.
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
	if budget := b.Budget.object(meta); budget != nil { // first: no pod is ever without it
		objects = append(objects, budget)
	}
	return append(objects, service(meta, b.NodePort, b.NodePortLocal), b.controller(meta, at)), nil
}

// controller is what makes the pods.
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
			s.MatchLabelKeys = []string{} // a successor goes where its forerunner was: the revisions are spread together
		}
		template.Spec.TopologySpreadConstraints = append(template.Spec.TopologySpreadConstraints, s.constraint(b.Name))
	}
	template.Spec.Tolerations = lossTolerations(b.Toleration)
	return template
}

// lossTolerations bound how long a pod stays bound to a lost node; none when the cluster's own default shall hold.
func lossTolerations(span time.Duration) []corev1.Toleration {
	if span == 0 {
		return nil
	}
	s := seconds(span)
	toleration := func(key string) corev1.Toleration {
		return corev1.Toleration{
			Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &s,
		}
	}
	return []corev1.Toleration{toleration(corev1.TaintNodeNotReady), toleration(corev1.TaintNodeUnreachable)}
}
