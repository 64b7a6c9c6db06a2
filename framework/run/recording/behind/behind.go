// Package behind finds out behind which Services of a cluster the requests to a URL end: by the addresses of Services, and by the hosts of
// Ingresses and HTTPRoutes.
//
// It only reads, and sends no request to the URL. What it cannot find out, the user has to say.
package behind

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// Finder finds Services in some namespaces.
type Finder struct {
	client     kubernetes.Interface
	untyped    dynamic.Interface
	namespaces []string
	nodes      func(context.Context) []string // their addresses; none: they cannot be read
}

// Found is where the requests to a URL end.
type Found struct {
	Services []string // as namespace/name, sorted; none: they are not known
	Why      string   // they are not known
	Sticky   string   // why all requests of a client come to the same pod, or to those of one node; empty: nothing says so
}

// New is a Finder in some namespaces, or in all. The configuration should only be able to read.
func New(config *rest.Config, namespaces []string) (*Finder, error) {
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
	return Of(client, untyped, namespaces), nil
}

// Of is a Finder with clients that should only be able to read.
func Of(client kubernetes.Interface, untyped dynamic.Interface, namespaces []string) *Finder {
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	f := &Finder{client: client, untyped: untyped, namespaces: namespaces}
	var once sync.Once
	var addresses []string
	f.nodes = func(ctx context.Context) []string {
		once.Do(func() { addresses = f.addresses(ctx) })
		return addresses
	}
	return f
}

// addresses are those of all nodes.
func (f *Finder) addresses(ctx context.Context) (all []string) {
	list, err := f.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	for i := range list.Items {
		for _, a := range list.Items[i].Status.Addresses {
			all = append(all, a.Address)
		}
	}
	return all
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

// onNode reports whether a URL has the address of a node and a node port of the Service.
func (f *Finder) onNode(ctx context.Context, s *corev1.Service, u *url.URL) bool {
	if !slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.NodePort != 0 && strconv.Itoa(int(p.NodePort)) == u.Port() }) {
		return false
	}
	nodes := f.nodes(ctx)
	if len(nodes) == 0 { // a node port belongs to one Service of the whole cluster, and an address is no name
		ip := net.ParseIP(u.Hostname())
		return ip != nil && !ip.IsLoopback()
	}
	return slices.Contains(nodes, u.Hostname())
}

// byIngress finds the Services to which Ingresses send the requests of a host and a path. A controller joins the rules of all its Ingresses: a
// longer path in one takes the requests from a shorter one in another.
func (f *Finder) byIngress(ctx context.Context, u *url.URL, into *Found) (err error) {
	byClass := make(map[string]*longest)
	for _, namespace := range f.namespaces {
		list, listErr := f.client.NetworkingV1().Ingresses(namespace).List(ctx, metav1.ListOptions{})
		if listErr != nil {
			err = listErr
			break
		}
		for i := range list.Items {
			in := &list.Items[i]
			class := classOf(in)
			if byClass[class] == nil {
				byClass[class] = &longest{}
			}
			ofIngress(in, u, byClass[class])
		}
	}
	for _, l := range byClass {
		into.Services = append(into.Services, l.services...)
		into.Sticky = cmp.Or(into.Sticky, l.sticky)
	}
	return err
}

// classOf names the controller that an Ingress is for.
func classOf(in *networkingv1.Ingress) string {
	if in.Spec.IngressClassName != nil {
		return *in.Spec.IngressClassName
	}
	return in.Annotations["kubernetes.io/ingress.class"] // which older manifests have
}

// longest are the Services of the rules that fit best: those for the host itself come before those for any host below a domain, and then those
// with the longest path.
type longest struct {
	rank     rank
	services []string
	sticky   string
}

// rank says how well a rule fits; the zero value: there is no rule.
type rank struct {
	host int // 2: the host itself, 1: any below a domain
	path int // how long the path is, doubled, and one more for an exact one
}

func (r rank) compare(other rank) int {
	return cmp.Or(cmp.Compare(r.host, other.host), cmp.Compare(r.path, other.path))
}

func rankOf(sameHost bool, path string, exactPath bool) (r rank) {
	r = rank{host: 1, path: 2 * len(path)}
	if sameHost {
		r.host = 2
	}
	if exactPath {
		r.path++
	}
	return r
}

// take takes in the Services of a rule that fits. One that leads to no Service still takes the requests.
func (l *longest) take(r rank, services ...string) {
	switch better := r.compare(l.rank); {
	case better < 0:
		return
	case better > 0:
		l.rank, l.services, l.sticky = r, nil, ""
	}
	l.services = append(l.services, services...)
}

// ofIngress takes in the backends of an Ingress.
func ofIngress(in *networkingv1.Ingress, u *url.URL, into *longest) {
	for _, rule := range in.Spec.Rules {
		if !sameHost(rule.Host, u.Hostname()) || rule.HTTP == nil {
			continue
		}
		for _, p := range rule.HTTP.Paths {
			if !fits(p, u.Path) {
				continue
			}
			var services []string
			if s := p.Backend.Service; s != nil {
				services = append(services, in.Namespace+"/"+s.Name)
			}
			if r := rankOf(rule.Host == u.Hostname(), p.Path, exact(p)); r.compare(into.rank) >= 0 {
				into.take(r, services...)
				into.sticky = cmp.Or(app.StickyIngress(in.Annotations), into.sticky)
			}
		}
	}
}

// fits reports whether a rule is for a path. What a path means that is neither a prefix nor exact is the controller's own: most take it for a
// regular expression, if it looks like one.
func fits(rule networkingv1.HTTPIngressPath, path string) bool {
	own := rule.PathType == nil || *rule.PathType == networkingv1.PathTypeImplementationSpecific
	switch {
	case exact(rule):
		return rule.Path == path
	case own && strings.ContainsAny(rule.Path, `*+?()[]|^$\`):
		pattern, err := regexp.Compile("^" + rule.Path)
		return err == nil && pattern.MatchString(path)
	}
	return below(rule.Path, path)
}

func exact(rule networkingv1.HTTPIngressPath) bool {
	return rule.PathType != nil && *rule.PathType == networkingv1.PathTypeExact
}

// sameHost reports whether a rule is for a host. A rule without a host would be for any, also for those of other clusters.
func sameHost(rule, host string) bool {
	if suffix, any := strings.CutPrefix(rule, "*."); any {
		_, after, _ := strings.Cut(host, ".")
		return after == suffix
	}
	return rule != "" && rule == host
}

// below reports whether a path is the same as a rule's, or below it.
func below(rule, path string) bool {
	rule = strings.TrimSuffix(rule, "/")
	return rule == "" || path == rule || strings.HasPrefix(path, rule+"/")
}
