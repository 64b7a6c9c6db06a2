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

// Gateway stands between the load and a backend: a Deployment and its Service. A zero field means its default, and the
// defaults are good practice: behind Gateway{} a lost node is invisible to clients.
type Gateway struct {
	Name     string `json:"name,omitempty"`     // default "gateway"
	Replicas int32  `json:"replicas,omitempty"` // default 1
	// Backend names the Service whose ready endpoints are the upstreams; default "backend". Upstreams, "ip:port",
	// replace it: a gateway that knows node ports only.
	Backend   string   `json:"backend,omitempty"`
	Upstreams []string `json:"upstreams,omitempty"`

	Health   Health   `json:"health"`
	Ejection Ejection `json:"ejection"`
	// PerTry bounds one try of a request; default 750 ms. MaxTries bounds them all; default 8. 1: no retries.
	PerTry   time.Duration `json:"perTry,omitempty"`
	MaxTries int           `json:"maxTries,omitempty"`
	// NoKeepAlive connects to the upstream anew for each try.
	NoKeepAlive bool `json:"noKeepAlive,omitempty"`

	// OnWorkers puts it where faults are; by default it is on the load node, which no fault touches.
	OnWorkers bool      `json:"onWorkers,omitempty"`
	Resources Resources `json:"resources"`
}

// Health says how a gateway checks its upstreams.
type Health = gateway.Health

// Ejection says when a gateway leaves out an upstream whose requests fail.
type Ejection = gateway.Ejection

// NoHealth checks no upstream, and NoEjection leaves none out: requests go to dead ones, again and again.
var (
	NoHealth   = Health{Off: true}
	NoEjection = Ejection{Off: true}
)

// What a gateway's pods do when they end, as a good backend's.
const (
	gatewayPreStop = 3 * time.Second
	gatewayGrace   = 30 * time.Second
)

// WithDefaults fills in what was left empty. What the server defaults by itself is left to it.
func (g Gateway) WithDefaults() Gateway {
	defaultTo(&g.Name, "gateway")
	defaultTo(&g.Replicas, 1)
	defaultTo(&g.Backend, "backend")
	g.Resources = g.Resources.withDefaults("50m", "32Mi", "256Mi")
	return g
}

// Validate says what of a gateway makes no sense.
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

// server is how the process in the pod is told to behave.
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

// Objects to create, in order. The namespace is not among them.
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

// watchEndpoints lets a service account of meta's name list and watch EndpointSlices, and nothing else.
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
