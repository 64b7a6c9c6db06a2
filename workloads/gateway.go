package workloads

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/workloads/gateway"
	"github.com/holdfast-ha/holdfast/workloads/serve"
)

// Gateway is a reverse proxy between the load and a backend: a Deployment and its Service. A zero field means its default,
// and the defaults are good practice: behind Gateway{} a lost node is invisible to clients.
type Gateway struct {
	Name     string `json:"name,omitempty"`     // default "gateway"
	Replicas int32  `json:"replicas,omitempty"` // default 1
	// Backend is the Service whose ready endpoints are the upstreams; default "backend". Upstreams, "ip:port", replace it,
	// for a gateway that knows only node ports.
	Backend   string   `json:"backend,omitempty"`
	Upstreams []string `json:"upstreams,omitempty"`

	Health   Health   `json:"health"`
	Ejection Ejection `json:"ejection"`
	// PerTry is the time-out of one try of a request; default 750 ms. MaxTries limits the tries; default 8; 1: no retries.
	PerTry   time.Duration `json:"perTry,omitempty"`
	MaxTries int           `json:"maxTries,omitempty"`
	// NoKeepAlive opens a new connection to the upstream for each try.
	NoKeepAlive bool `json:"noKeepAlive,omitempty"`

	// OnWorkers places it on the workers, where faults happen; by default it runs on the load node, which no fault touches.
	OnWorkers bool      `json:"onWorkers,omitempty"`
	Resources Resources `json:"resources"`
}

// Health configures how a gateway checks its upstreams.
type Health = gateway.Health

// Ejection configures when a gateway leaves out an upstream whose requests fail.
type Ejection = gateway.Ejection

// NoHealth checks no upstream, and NoEjection leaves none out: a gateway with both keeps sending requests to dead
// upstreams.
var (
	NoHealth   = Health{Off: true}
	NoEjection = Ejection{Off: true}
)

// How a gateway's pods terminate, the same as a good backend's.
const (
	gatewayPreStop = 3 * time.Second
	gatewayGrace   = 30 * time.Second
)

// WithDefaults sets empty fields to their defaults, except for those that the gateway process sets itself.
func (g Gateway) WithDefaults() Gateway {
	defaultTo(&g.Name, "gateway")
	defaultTo(&g.Replicas, 1)
	defaultTo(&g.Backend, "backend")
	g.Resources = g.Resources.withDefaults("50m", "32Mi", "256Mi")
	return g
}

// Validate returns an error if the options are invalid.
func (g Gateway) Validate() error {
	g = g.WithDefaults()
	err := g.server("default").Validate()
	if err == nil {
		err = g.Resources.validate()
	}
	if err == nil && g.Replicas < 0 {
		err = fmt.Errorf("%d replicas", g.Replicas)
	}
	if err != nil {
		return fmt.Errorf("gateway %s: %w", g.Name, err)
	}
	return nil
}

// server is the configuration of the process in the pod.
func (g Gateway) server(namespace string) gateway.Options {
	o := gateway.Options{
		Upstreams: g.Upstreams, Health: g.Health, Ejection: g.Ejection,
		PerTry: g.PerTry, MaxTries: g.MaxTries, NoKeepAlive: g.NoKeepAlive,
	}
	if len(g.Upstreams) == 0 {
		o.Namespace, o.Service = namespace, g.Backend
	}
	return o
}

// Objects are the objects to create, in order. The namespace is not among them.
func (g Gateway) Objects(at Place) ([]Object, error) {
	if err := g.Validate(); err != nil {
		return nil, err
	}
	g = g.WithDefaults()
	meta := at.meta(g.Name, ComponentGateway)
	p := pod{
		name: g.Name, component: ComponentGateway, args: g.server(at.Namespace).Args(), resources: g.Resources,
		preStop: gatewayPreStop, grace: gatewayGrace, readiness: Readiness{}.withDefaults(), readyPath: serve.ReadyPath,
	}
	var objects []Object
	if len(g.Upstreams) == 0 {
		p.account = g.Name
		objects = append(objects, watchEndpoints(meta)...)
	}
	if g.Replicas > 1 {
		objects = append(objects, Budget{}.withDefaults().object(meta))
	}
	template := p.template(at)
	template.Spec.NodeSelector, template.Spec.Tolerations = onRole(roleLoad), loadTolerations()
	if g.OnWorkers {
		template.Spec.NodeSelector, template.Spec.Tolerations = onRole(roleWorker), nil
		template.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
			Spread{Key: Host, Unsatisfiable: corev1.ScheduleAnyway}.constraint(g.Name),
		}
	}
	strategy := Strategy{MaxSurge: "1", MaxUnavailable: "0"}
	return append(objects, service(meta, 0, false), deployment(meta, g.Replicas, strategy, template)), nil
}

// watchEndpoints is a service account with meta's name that may list and watch EndpointSlices, and nothing else.
func watchEndpoints(meta metav1.ObjectMeta) []Object {
	kind := func(group, kind string) metav1.TypeMeta { return metav1.TypeMeta{APIVersion: group + "v1", Kind: kind} }
	const rbac = rbacv1.GroupName
	return []Object{
		&corev1.ServiceAccount{TypeMeta: kind("", "ServiceAccount"), ObjectMeta: meta},
		&rbacv1.Role{TypeMeta: kind(rbac+"/", "Role"), ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: []string{"list", "watch"},
		}}},
		&rbacv1.RoleBinding{
			TypeMeta: kind(rbac+"/", "RoleBinding"), ObjectMeta: meta,
			RoleRef:  rbacv1.RoleRef{APIGroup: rbac, Kind: "Role", Name: meta.Name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: meta.Name, Namespace: meta.Namespace}},
		},
	}
}
