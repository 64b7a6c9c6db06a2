package recording

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// Finder finds out behind which Services of some namespaces the requests to a URL end: by the addresses of Services, and by the hosts and path prefixes
// of Ingresses and HTTPRoutes. It only reads, and sends no request to the URL. What it cannot find out, the user has to say.
type Finder struct {
	client     kubernetes.Interface
	untyped    dynamic.Interface
	namespaces []string
}

// Found is where the requests to a URL end.
type Found struct {
	Services []string // as namespace/name, sorted; none: they are not known
	Why      string   // they are not known
	Sticky   string   // why all requests of a client come to the same pod, or to those of one node; empty: nothing says so
}

// NewFinder is a Finder in some namespaces, or in all. The configuration should only be able to read.
func NewFinder(config *rest.Config, namespaces []string) (*Finder, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	json := rest.CopyConfig(config)
	json.ContentType, json.AcceptContentTypes = "", ""
	untyped, err := dynamic.NewForConfig(json)
	if err != nil {
		return nil, err
	}
	return FinderOf(client, untyped, namespaces), nil
}

// FinderOf is a Finder with clients that should only be able to read.
func FinderOf(client kubernetes.Interface, untyped dynamic.Interface, namespaces []string) *Finder {
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	return &Finder{client: client, untyped: untyped, namespaces: namespaces}
}

// Find returns the Services behind which requests to a URL end. Only an API server that does not answer, and a URL that cannot be read, are errors.
func (f *Finder) Find(ctx context.Context, raw string) (found Found, err error) {
	u, err := url.Parse(raw)
	if err != nil {
		return found, err
	}
	u.Path = cmp.Or(u.Path, "/") // as a client sends it
	var unread []string
	for _, find := range []func(context.Context, *url.URL, *Found) error{f.byService, f.byIngress, f.byRoute} {
		switch err := find(ctx, u, &found); {
		case err != nil && existing.MayNot(err):
			unread = append(unread, err.Error())
		case err != nil:
			return Found{}, fmt.Errorf("find what is behind %s: %w", raw, err)
		}
	}
	if len(found.Services) == 0 {
		found.Why = cmp.Or(strings.Join(unread, ", "), "no Service, Ingress or HTTPRoute there has that address")
	}
	slices.Sort(found.Services)
	found.Services = slices.Compact(found.Services)
	return found, nil
}

// byService finds the Service whose own address the URL has. A node that sends requests to its own pods alone gives a client no choice of the others.
func (f *Finder) byService(ctx context.Context, u *url.URL, into *Found) error {
	for _, namespace := range f.namespaces {
		list, err := f.client.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list.Items {
			s := &list.Items[i]
			inside, outside := leadsTo(s, u)
			if outside = outside || f.onNode(ctx, s, u); !inside && !outside {
				continue
			}
			into.Services = append(into.Services, s.Namespace+"/"+s.Name)
			into.Sticky = cmp.Or(into.Sticky, app.StickyService(s.Name, s.Spec))
			if outside && s.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal {
				into.Sticky = cmp.Or(into.Sticky, "externalTrafficPolicy Local of Service "+s.Name)
			}
			if p := s.Spec.InternalTrafficPolicy; inside && p != nil && *p == corev1.ServiceInternalTrafficPolicyLocal {
				into.Sticky = cmp.Or(into.Sticky, "internalTrafficPolicy Local of Service "+s.Name)
			}
		}
	}
	return nil
}

// leadsTo reports whether a URL has an address of a Service, and one of its ports: inside is its name in the cluster or its cluster IP, and outside an
// external address or that of its load balancer.
func leadsTo(s *corev1.Service, u *url.URL) (inside, outside bool) {
	if !slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return strconv.Itoa(int(p.Port)) == app.Port(u) }) {
		return false, false
	}
	host := strings.TrimSuffix(u.Hostname(), ".")
	full := s.Name + "." + s.Namespace
	inside = host == full || host == full+".svc" || strings.HasPrefix(host, full+".svc.") || slices.Contains(append(s.Spec.ClusterIPs, s.Spec.ClusterIP), host)
	return inside, slices.Contains(s.Spec.ExternalIPs, host) ||
		slices.ContainsFunc(s.Status.LoadBalancer.Ingress, func(at corev1.LoadBalancerIngress) bool { return at.IP == host || at.Hostname == host })
}

// onNode reports whether a URL has the address of a node and a node port of the Service. Where the nodes cannot be read, each address that is not a
// loopback address counts: a node port belongs to one Service of the whole cluster.
func (f *Finder) onNode(ctx context.Context, s *corev1.Service, u *url.URL) bool {
	if !slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.NodePort != 0 && strconv.Itoa(int(p.NodePort)) == u.Port() }) {
		return false
	}
	nodes, err := f.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		ip := net.ParseIP(u.Hostname())
		return ip != nil && !ip.IsLoopback()
	}
	return slices.ContainsFunc(nodes.Items, func(n corev1.Node) bool {
		return slices.ContainsFunc(n.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Address == u.Hostname() })
	})
}

// byIngress finds the Services to which Ingresses send the requests of a host and a path.
func (f *Finder) byIngress(ctx context.Context, u *url.URL, into *Found) error {
	var l longest
	for _, namespace := range f.namespaces {
		list, err := f.client.NetworkingV1().Ingresses(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list.Items {
			in := &list.Items[i]
			for _, rule := range in.Spec.Rules {
				if !sameHost(rule.Host, u.Hostname()) || rule.HTTP == nil {
					continue
				}
				for _, p := range rule.HTTP.Paths {
					if s := p.Backend.Service; s != nil && l.take(u.Path, p.Path, in.Namespace+"/"+s.Name) {
						into.Sticky = cmp.Or(into.Sticky, app.StickyIngress(in.Annotations))
					}
				}
			}
		}
	}
	into.Services = append(into.Services, l.services...)
	return nil
}

// routes is the kind of HTTPRoutes, which not every cluster serves.
//
// Source: https://gateway-api.sigs.k8s.io/reference/spec/#httproute
var routes = schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "httproutes"}

// byRoute finds the Services to which HTTPRoutes send the requests of a host and a path.
func (f *Finder) byRoute(ctx context.Context, u *url.URL, into *Found) error {
	var l longest
	for _, namespace := range f.namespaces {
		list, err := f.untyped.Resource(routes).Namespace(namespace).List(ctx, metav1.ListOptions{})
		switch {
		case apierrors.IsNotFound(err): // the kind is not served
			return nil
		case err != nil:
			return err
		}
		for i := range list.Items {
			ofRoute(&list.Items[i], u, &l)
		}
	}
	into.Services = append(into.Services, l.services...)
	return nil
}

// ofRoute takes in the backends of a route. A rule without matches is for all paths.
func ofRoute(route *unstructured.Unstructured, u *url.URL, into *longest) {
	hosts, _, _ := unstructured.NestedStringSlice(route.Object, "spec", "hostnames")
	if !slices.ContainsFunc(hosts, func(host string) bool { return sameHost(host, u.Hostname()) }) {
		return
	}
	rules, _, _ := unstructured.NestedSlice(route.Object, "spec", "rules")
	for _, one := range rules {
		rule, _ := one.(map[string]any)
		matches, _, _ := unstructured.NestedSlice(rule, "matches")
		if len(matches) == 0 {
			matches = []any{nil}
		}
		for _, one := range matches {
			match, _ := one.(map[string]any)
			path, _, _ := unstructured.NestedString(match, "path", "value")
			for _, service := range backends(rule, route.GetNamespace()) {
				into.take(u.Path, path, service)
			}
		}
	}
}

// backends are the Services of a rule that get requests.
func backends(rule map[string]any, namespace string) (found []string) {
	refs, _, _ := unstructured.NestedSlice(rule, "backendRefs")
	for _, one := range refs {
		ref, _ := one.(map[string]any)
		name, _, _ := unstructured.NestedString(ref, "name")
		kind, _, _ := unstructured.NestedString(ref, "kind")
		in, _, _ := unstructured.NestedString(ref, "namespace")
		weight, weighed, _ := unstructured.NestedInt64(ref, "weight")
		if cmp.Or(kind, "Service") == "Service" && (!weighed || weight > 0) {
			found = append(found, cmp.Or(in, namespace)+"/"+name)
		}
	}
	return found
}

// longest are the Services of the rules with the longest path that requests are below: a controller joins the rules of all objects, and a longer
// path takes the requests from a shorter one.
type longest struct {
	path     int
	services []string
}

// take takes in a Service if its rule is for a path, and no rule with a longer one is. It reports whether it did.
func (l *longest) take(path, rule, service string) bool {
	rule = strings.TrimSuffix(rule, "/")
	if rule != "" && path != rule && !strings.HasPrefix(path, rule+"/") || len(rule) < l.path {
		return false
	}
	if len(rule) > l.path {
		l.path, l.services = len(rule), nil
	}
	l.services = append(l.services, service)
	return true
}

// sameHost reports whether a rule is for a host. A rule without a host would be for any, also for those of other clusters.
func sameHost(rule, host string) bool {
	if suffix, any := strings.CutPrefix(rule, "*."); any {
		_, after, _ := strings.Cut(host, ".")
		return after == suffix
	}
	return rule != "" && rule == host
}
