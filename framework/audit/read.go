package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/pager"
)

// pageSize is how many objects are requested at a time, so that a list of ten thousand pods does not come in one response. A ConfigMap may have a
// size of 1 MiB.
func pageSize(of Resource) int64 {
	if of == ConfigMaps {
		return 50
	}
	return 500
}

// Scope says which namespaces are read.
type Scope struct {
	// Namespaces by name. None: all except Kubernetes' own (kube-*).
	Namespaces []string
	// System includes Kubernetes' own namespaces, too.
	System bool
	// Skip lists IDs of rules that will be left out of the audit. What only they need is not read, so it needs no permission.
	Skip []string
}

// has reports whether objects of a namespace belong to the audit.
func (s Scope) has(namespace string) bool {
	return len(s.Namespaces) > 0 || s.System || !strings.HasPrefix(namespace, "kube-")
}

// Read gets and lists what the rules need, and writes nothing. What the cluster refuses to show is noted as Unread. It returns
// an error only if the cluster cannot be queried at all, or rejects the credentials.
func Read(ctx context.Context, client kubernetes.Interface, scope Scope) (Cluster, error) {
	r := reader{ctx: ctx, client: client, scope: scope, owners: map[types.UID]types.UID{}, pods: map[types.UID][]Pod{}}
	r.cluster.Taken = time.Now()
	r.checkNamespaces()
	r.readWorkloads()
	r.readPods()
	r.readSurroundings()
	if r.err != nil {
		return Cluster{}, r.err
	}
	r.adopt()
	return r.cluster, nil
}

// reader gathers a Cluster. After its first error it sends no more requests.
type reader struct {
	ctx     context.Context
	client  kubernetes.Interface
	scope   Scope
	cluster Cluster
	owners  map[types.UID]types.UID // of ReplicaSets: their Deployments
	pods    map[types.UID][]Pod     // by the UID of their controller
	err     error
}

// checkNamespaces notes namespaces that do not exist: their empty lists would look like namespaces without faults. If getting a
// namespace is forbidden, the lists will show what may be read.
func (r *reader) checkNamespaces() {
	for _, name := range r.scope.Namespaces {
		_, err := r.client.CoreV1().Namespaces().Get(r.ctx, name, metav1.GetOptions{})
		if err != nil && !apierrors.IsForbidden(err) {
			r.refused(Namespaces, name, err)
		}
	}
}

func (r *reader) readWorkloads() {
	list(r, Deployments, r.client.AppsV1().Deployments, func(d *appsv1.Deployment) {
		r.add(deployment(d))
	})
	list(r, StatefulSets, r.client.AppsV1().StatefulSets, func(s *appsv1.StatefulSet) {
		r.add(statefulSet(s))
	})
}

func (r *reader) add(w Workload) {
	if w.Replicas == 0 {
		r.cluster.Idle = append(r.cluster.Idle, w)
		return
	}
	r.cluster.Workloads = append(r.cluster.Workloads, w)
}

func (r *reader) readPods() {
	list(r, ReplicaSets, r.client.AppsV1().ReplicaSets, func(s *appsv1.ReplicaSet) {
		if owner := metav1.GetControllerOf(s); owner != nil {
			r.owners[s.UID] = owner.UID
		}
	})
	list(r, Pods, r.client.CoreV1().Pods, func(p *corev1.Pod) {
		owner := metav1.GetControllerOf(p)
		if owner == nil || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			return
		}
		r.pods[owner.UID] = append(r.pods[owner.UID], slimPod(p))
	})
}

func (r *reader) readSurroundings() {
	named := r.namedConfigMaps()
	list(r, Budgets, r.client.PolicyV1().PodDisruptionBudgets, func(b *policyv1.PodDisruptionBudget) {
		b.ManagedFields = nil // most of an object's size, and not needed
		r.cluster.Budgets = append(r.cluster.Budgets, *b)
	})
	list(r, Services, r.client.CoreV1().Services, func(s *corev1.Service) {
		s.ManagedFields = nil
		r.cluster.Services = append(r.cluster.Services, *s)
	})
	list(r, EndpointSlices, r.client.DiscoveryV1().EndpointSlices, func(s *discoveryv1.EndpointSlice) {
		if handMade(s) {
			r.cluster.Slices = append(r.cluster.Slices, *s)
		}
	})
	list(r, ConfigMaps, r.client.CoreV1().ConfigMaps, func(m *corev1.ConfigMap) {
		if named[types.NamespacedName{Namespace: m.Namespace, Name: m.Name}] {
			m.ManagedFields, m.BinaryData = nil, nil
			r.cluster.ConfigMaps = append(r.cluster.ConfigMaps, *m)
		}
	})
	list(r, Quotas, r.client.CoreV1().ResourceQuotas, func(q *corev1.ResourceQuota) {
		q.ManagedFields = nil
		r.cluster.Quotas = append(r.cluster.Quotas, *q)
	})
	list(r, Autoscalers, r.client.AutoscalingV2().HorizontalPodAutoscalers, func(h *autoscalingv2.HorizontalPodAutoscaler) {
		h.ManagedFields = nil
		r.cluster.Autoscalers = append(r.cluster.Autoscalers, *h)
	})
	page(r, Nodes, "", r.client.CoreV1().Nodes(), func(n *corev1.Node) {
		r.cluster.Nodes = append(r.cluster.Nodes, slimNode(n))
	})
}

func (r *reader) namedConfigMaps() map[types.NamespacedName]bool {
	named := map[types.NamespacedName]bool{}
	for _, w := range r.cluster.Workloads {
		for _, name := range configMapsOf(w.Template) {
			named[types.NamespacedName{Namespace: w.Namespace, Name: name}] = true
		}
	}
	return named
}

// adopt assigns the pods to their workloads.
func (r *reader) adopt() {
	workloadOf := map[types.UID]*Workload{}
	for i := range r.cluster.Workloads {
		workloadOf[r.cluster.Workloads[i].UID] = &r.cluster.Workloads[i]
	}
	for controller, pods := range r.pods {
		if owner, isReplicaSet := r.owners[controller]; isReplicaSet {
			controller = owner
		}
		if w := workloadOf[controller]; w != nil {
			w.Pods = append(w.Pods, pods...)
		}
	}
	for i := range r.cluster.Workloads { // the map above has no order
		slices.SortFunc(r.cluster.Workloads[i].Pods, func(a, b Pod) int { return strings.Compare(a.Name, b.Name) })
	}
}

// refused notes a resource that the cluster does not show, or keeps the error if the cluster could not be queried at all.
func (r *reader) refused(what Resource, namespace string, err error) {
	var status apierrors.APIStatus
	switch {
	case r.err != nil:
	case errors.As(err, &status) && !apierrors.IsUnauthorized(err):
		r.cluster.Unread = append(r.cluster.Unread, Unread{Resource: what, Namespace: namespace, Why: err.Error()})
	default:
		r.err = fmt.Errorf("read %s: %w", what, err)
	}
}

// lister is a client of one resource.
type lister[L runtime.Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
}

// list visits all objects of a resource in the scope's namespaces. A resource that no rule needs is not listed, and noted as such: it
// must not look as if the cluster had none of it.
func list[T any, L runtime.Object, C lister[L]](r *reader, what Resource, in func(namespace string) C, visit func(*T)) {
	if !r.scope.needs(what) {
		r.cluster.Unread = append(r.cluster.Unread, Unread{Resource: what, Why: "it was not read, because the rules that need it are left out"})
		return
	}
	namespaces := r.scope.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	for _, namespace := range namespaces {
		page(r, what, namespace, in(namespace), func(object *T) {
			if m, ok := any(object).(metav1.Object); !ok || r.scope.has(m.GetNamespace()) {
				visit(object)
			}
		})
	}
}

// page visits all objects of one list, page by page. It keeps one page in memory and requests the next.
func page[T any, L runtime.Object](r *reader, what Resource, namespace string, from lister[L], visit func(*T)) {
	if r.err != nil {
		return
	}
	pages := pager.New(pager.SimplePageFunc(func(options metav1.ListOptions) (runtime.Object, error) {
		return from.List(r.ctx, options)
	}))
	pages.PageSize, pages.PageBufferSize = pageSize(what), 0
	err := pages.EachListItem(r.ctx, metav1.ListOptions{}, func(object runtime.Object) error {
		if typed, ok := any(object).(*T); ok {
			visit(typed)
		}
		return nil
	})
	if err != nil {
		r.refused(what, namespace, err)
	}
}

// Access is a permission that Read uses. A Role that grants every Access of a Scope, and nothing else, is the smallest one.
type Access struct {
	Verb     string // get or list
	Group    string // the API group; empty: core
	Resource Resource
	// Everywhere: only a ClusterRole can grant it, because the resource has no namespace. Otherwise it is needed in the scope's
	// namespaces, or in all of them if the scope names none.
	Everywhere bool
}

// groups has the API groups of resources outside the core group.
var groups = map[Resource]string{
	Deployments: "apps", StatefulSets: "apps", ReplicaSets: "apps", Budgets: "policy", EndpointSlices: "discovery.k8s.io", Autoscalers: "autoscaling",
}

// always are the resources that are read whatever the rules: they say which pods of which workloads are where.
var always = []Resource{Deployments, StatefulSets, ReplicaSets, Pods, Nodes}

// Access returns the permissions that reading this scope uses.
func (s Scope) Access() (all []Access) {
	if len(s.Namespaces) > 0 {
		all = append(all, Access{Verb: "get", Resource: Namespaces}) // a Role of a namespace can grant it for that namespace
	}
	for _, r := range slices.Concat(always, []Resource{Budgets, Services, EndpointSlices, ConfigMaps, Quotas, Autoscalers}) {
		if s.needs(r) {
			all = append(all, Access{Verb: "list", Group: groups[r], Resource: r, Everywhere: r == Nodes})
		}
	}
	return all
}

// needs reports whether a resource has to be read for the rules that are not skipped.
func (s Scope) needs(what Resource) bool {
	return slices.Contains(always, what) || slices.ContainsFunc(Rules, func(r Rule) bool {
		return !slices.Contains(s.Skip, r.ID) && slices.Contains(r.needs, what)
	})
}
