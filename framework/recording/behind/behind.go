// Package behind finds out behind which Services of a cluster the requests to a URL end: by the addresses of Services, and by the hosts of
// Ingresses and HTTPRoutes.
//
// It only reads, and sends no request to the URL. What it cannot find out, the user has to say.
package behind

import (
	"context"
	"fmt"
	"net"
	"net/url"
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
	return of(client, untyped, namespaces), nil
}

func of(client kubernetes.Interface, untyped dynamic.Interface, namespaces []string) *Finder {
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

// Find returns the Services behind which requests to a URL end, as namespace/name, sorted. None: it is not known, and note says why. Only an API
// server that does not answer, and a URL that cannot be read, are errors.
func (f *Finder) Find(ctx context.Context, raw string) (services []string, note string, err error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, "", err
	}
	var unread []string
	for _, find := range []func(context.Context, *url.URL) ([]string, error){f.byService, f.byIngress, f.byRoute} {
		found, err := find(ctx, u)
		switch {
		case err != nil && existing.MayNot(err):
			unread = append(unread, err.Error())
		case err != nil:
			return nil, "", fmt.Errorf("find what is behind %s: %w", raw, err)
		}
		services = append(services, found...)
	}
	if len(services) > 0 {
		slices.Sort(services)
		return slices.Compact(services), "", nil
	}
	why := "no Service, Ingress or HTTPRoute of the watched namespaces has that address"
	if len(unread) > 0 {
		why = strings.Join(unread, ", ")
	}
	return nil, fmt.Sprintf("It is not known behind which Service the requests to %s end (%s), so nothing is shown about them: say it with --behind NAMESPACE/SERVICE.", raw, why), nil
}

// byService finds the Service whose own address the URL has.
func (f *Finder) byService(ctx context.Context, u *url.URL) (found []string, err error) {
	for _, namespace := range f.namespaces {
		list, err := f.client.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return found, err
		}
		for i := range list.Items {
			s := &list.Items[i]
			if leadsTo(s, u) || f.onNode(ctx, s, u) {
				found = append(found, s.Namespace+"/"+s.Name)
			}
		}
	}
	return found, nil
}

// leadsTo reports whether a URL has an address of a Service: its name in the cluster, its cluster IP, an external address, or that of its load
// balancer; and one of its ports.
func leadsTo(s *corev1.Service, u *url.URL) bool {
	if !slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return strconv.Itoa(int(p.Port)) == app.Port(u) }) {
		return false
	}
	host := strings.TrimSuffix(u.Hostname(), ".")
	full := s.Name + "." + s.Namespace
	if host == full || host == full+".svc" || strings.HasPrefix(host, full+".svc.") {
		return true
	}
	if slices.Contains(s.Spec.ClusterIPs, host) || slices.Contains(s.Spec.ExternalIPs, host) || host == s.Spec.ClusterIP {
		return true
	}
	return slices.ContainsFunc(s.Status.LoadBalancer.Ingress, func(at corev1.LoadBalancerIngress) bool { return at.IP == host || at.Hostname == host })
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

// byIngress finds the Services to which Ingresses send the requests of a host and a path.
func (f *Finder) byIngress(ctx context.Context, u *url.URL) (found []string, err error) {
	for _, namespace := range f.namespaces {
		list, err := f.client.NetworkingV1().Ingresses(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return found, err
		}
		for i := range list.Items {
			found = append(found, ofIngress(&list.Items[i], u)...)
		}
	}
	return found, nil
}

// ofIngress are the backends of the rules that fit best: those with the longest path.
func ofIngress(in *networkingv1.Ingress, u *url.URL) (found []string) {
	best := -1
	for _, rule := range in.Spec.Rules {
		if !sameHost(rule.Host, u.Hostname()) || rule.HTTP == nil {
			continue
		}
		for _, p := range rule.HTTP.Paths {
			if p.Backend.Service == nil || !below(p.Path, u.Path) || len(p.Path) < best {
				continue
			}
			if len(p.Path) > best {
				best, found = len(p.Path), nil
			}
			found = append(found, in.Namespace+"/"+p.Backend.Service.Name)
		}
	}
	return found
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
