package environment

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/deploy"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// frontAddress is where the controller of an Ingress or HTTPRoute takes requests: the address that it has written into the status of the
// Ingress, or of the Gateway of the route. For an Ingress without one it is that of the only Service of type LoadBalancer that can be the
// controller's, because not every controller writes it.
func (env *Environment) frontAddress(ctx context.Context, f app.Front, u *url.URL) (string, error) {
	untyped, err := dynamic.NewForConfig(env.config)
	if err != nil {
		return "", err
	}
	address := ""
	err = poll.Until(ctx, f.String()+" to have an address", deployLimit, func(ctx context.Context) (bool, string, error) {
		if address, err = env.published(ctx, untyped, f); err != nil || address != "" {
			return err == nil, "", err
		}
		switch {
		case f.Kind != "Ingress":
		case len(f.Entries) == 1:
			address, err = env.balancer(ctx, env.namespace, f.Entries[0])
		case len(f.Entries) == 0 && len(f.Elsewhere) == 1:
			address, err = env.balancer(ctx, f.Elsewhere[0].Namespace, f.Elsewhere[0].Name)
		}
		return address != "", "its controller has published none, and " + entriesOf(f), err
	})
	if err != nil {
		return "", err
	}
	if err := env.passes(ctx, address); err != nil {
		return "", fmt.Errorf("reach %s: %w", f, err)
	}
	return net.JoinHostPort(address, app.Port(u)), nil
}

func entriesOf(f app.Front) string {
	entries := slices.Clone(f.Entries)
	for _, s := range f.Elsewhere {
		entries = append(entries, s.Namespace+"/"+s.Name)
	}
	if len(entries) == 0 {
		return "the application has no Service of type LoadBalancer for one"
	}
	return "the application's Services of type LoadBalancer are " + strings.Join(entries, ", ")
}

// published is the address in the status of an Ingress, or of a Gateway of a route; empty: there is none yet.
func (env *Environment) published(ctx context.Context, untyped dynamic.Interface, f app.Front) (string, error) {
	if f.Kind == "Ingress" {
		in, err := env.client.NetworkingV1().Ingresses(env.namespace).Get(ctx, f.Name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		for _, at := range in.Status.LoadBalancer.Ingress {
			if at.IP != "" {
				return at.IP, nil
			}
		}
		return "", nil
	}
	for _, name := range f.Gateways {
		gateway, err := env.gatewayOf(ctx, untyped, name)
		if err != nil {
			return "", err
		}
		addresses, _, _ := unstructured.NestedSlice(gateway.Object, "status", "addresses")
		for _, one := range addresses {
			at, _ := one.(map[string]any)
			if value, _ := at["value"].(string); net.ParseIP(value) != nil {
				return value, nil
			}
		}
	}
	return "", nil
}

// gatewayOf reads a Gateway in the version that the application's CustomResourceDefinition serves.
func (env *Environment) gatewayOf(ctx context.Context, untyped dynamic.Interface, name string) (*unstructured.Unstructured, error) {
	version := "v1"
	in := env.namespace
	if namespace, short, is := strings.Cut(name, "/"); is {
		in, name = namespace, short
	}
	for _, m := range env.Spec.App.All() {
		if m.Object.GetKind() == "Gateway" && m.Object.GetName() == name && m.Object.GetNamespace() == in {
			version = m.Object.GroupVersionKind().Version
		}
	}
	gateways := schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: version, Resource: "gateways"}
	return untyped.Resource(gateways).Namespace(in).Get(ctx, name, metav1.GetOptions{})
}

// balancer is the address of a Service of type LoadBalancer; empty: it has none.
func (env *Environment) balancer(ctx context.Context, namespace, service string) (string, error) {
	s, err := env.client.CoreV1().Services(namespace).Get(ctx, service, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	for _, at := range s.Status.LoadBalancer.Ingress {
		if at.IP != "" {
			return at.IP, nil
		}
	}
	return "", nil
}

// passes returns an error if kube-proxy does not let the load through to an address of ours: see balanced.
func (env *Environment) passes(ctx context.Context, address string) error {
	if env.Cluster.Spec().ProxyMode != clusters.IPVS {
		return nil
	}
	for _, namespace := range append([]string{env.namespace}, env.further...) {
		list, err := env.client.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, s := range list.Items {
			has := slices.ContainsFunc(s.Status.LoadBalancer.Ingress, func(at corev1.LoadBalancerIngress) bool { return at.IP == address })
			if has && s.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal {
				return fmt.Errorf("its Service %s has externalTrafficPolicy Local, with which kube-proxy in IPVS mode lets a node reach its own pods only, "+
					"and the load node has none: use another --proxy-mode", s.Name)
			}
		}
	}
	return nil
}

// outsideAddress is where clients outside of the cluster find the Service of a URL: the address of its load balancer, or its node port with the
// addresses of all workers.
func (env *Environment) outsideAddress(ctx context.Context, u *url.URL) (host string, workers []netip.Addr, err error) {
	service, _ := env.Spec.App.Service(u.Hostname())
	found, err := env.client.CoreV1().Services(env.namespace).Get(ctx, service.Name, metav1.GetOptions{})
	if err != nil {
		return "", nil, err
	}
	port := app.Port(u)
	at := slices.IndexFunc(found.Spec.Ports, func(p corev1.ServicePort) bool {
		return strconv.Itoa(int(p.Port)) == port || strconv.Itoa(int(p.NodePort)) == port
	})
	switch {
	case at < 0:
		return "", nil, fmt.Errorf("its Service %s has no port and no node port %s", service.Name, port)
	case !service.AtNodes(port):
		address, err := env.balancer(ctx, env.namespace, service.Name)
		if err == nil && address == "" {
			err = fmt.Errorf("its Service %s has no address of a load balancer", service.Name)
		}
		if err != nil {
			return "", nil, err
		}
		return net.JoinHostPort(address, port), nil, env.passes(ctx, address)
	case found.Spec.Ports[at].NodePort == 0:
		return "", nil, fmt.Errorf("port %s of its Service %s has no node port", port, service.Name)
	}
	for _, n := range env.Cluster.Nodes() {
		if n.Role() != clusters.Worker {
			continue
		}
		address, err := env.addressOf(ctx, n.Name())
		if err != nil {
			return "", nil, err
		}
		ip, err := netip.ParseAddr(address)
		if err != nil {
			return "", nil, err
		}
		workers = append(workers, ip)
	}
	return net.JoinHostPort(u.Hostname(), strconv.Itoa(int(found.Spec.Ports[at].NodePort))), workers, nil
}

// balanced are the addresses of Services of type LoadBalancer. No machine has one of them: they are for documentation (RFC 5737).
//
// kube-proxy on each node sends what comes from its pods, or from the node itself, to an address of the status on to the Service's
// endpoints (ipMode VIP). So such an address leads nowhere from outside of the cluster, and to the Service from each of its nodes, where
// the load comes from; nobody has to announce it. With externalTrafficPolicy Local, kube-proxy sends traffic of pods and of the node
// itself to all endpoints too, as if it had gone out to a load balancer that knows which nodes have endpoints, and come in again. In IPVS mode alone
// it does not.
//
// Source: https://github.com/kubernetes/enhancements/tree/master/keps/sig-network/1860-kube-proxy-IP-node-binding, and "short-circuit pod
// traffic" in kubernetes pkg/proxy/nftables/proxier.go, "pod traffic for %s external destinations" in pkg/proxy/iptables/proxier.go
var balanced = netip.MustParsePrefix("198.51.100.0/24")

// balancerAddress is the address of an application's Service of type LoadBalancer. It depends on the application's Services alone: those
// of its namespace come first, by name, and then the others.
func balancerAddress(a *app.App, s app.Service) (netip.Addr, error) {
	var all []string
	for _, services := range [][]app.Service{a.Services, a.Elsewhere} {
		var names []string
		for _, s := range services {
			if s.LoadBalancer {
				names = append(names, s.Namespace+"/"+s.Name)
			}
		}
		slices.Sort(names)
		all = append(all, names...)
	}
	address := balanced.Addr()
	for range slices.Index(all, s.Namespace+"/"+s.Name) + 1 {
		address = address.Next()
	}
	if !balanced.Contains(address.Next()) { // the last one is for broadcasts
		return address, fmt.Errorf("give Service %s an address: %s has no more than 254", s.Name, balanced)
	}
	return address, nil
}

// routeScript lets a node send to the addresses $1: a node without a default route refuses to before kube-proxy's rules are asked. A pod
// needs no such route, because its own default route leads to its node.
const routeScript = `ip -4 route replace "$1" dev eth0`

// balance gives each Service of type LoadBalancer of a stage an address, unless somebody else has done so.
func (env *Environment) balance(ctx context.Context, stage app.Stage) error {
	services := slices.DeleteFunc(slices.Concat(env.Spec.App.Services, env.Spec.App.Elsewhere), func(s app.Service) bool {
		created := slices.ContainsFunc(stage.Objects, func(m app.Manifest) bool {
			return m.Object.GetKind() == "Service" && m.Object.GetName() == s.Name && m.Object.GetNamespace() == s.Namespace
		})
		return !s.LoadBalancer || !created
	})
	if len(services) == 0 {
		return nil
	}
	for _, node := range env.Cluster.Nodes() {
		if _, err := node.Exec(ctx, "sh", "-c", routeScript, "route", balanced.String()); err != nil {
			return fmt.Errorf("route the addresses of Services of type LoadBalancer on %s: %w", node.Name(), err)
		}
	}
	for _, s := range services {
		if err := env.giveAddress(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (env *Environment) giveAddress(ctx context.Context, s app.Service) error {
	services := env.client.CoreV1().Services(s.Namespace)
	there, err := services.Get(ctx, s.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("give Service %s an address: %w", s.Name, err)
	}
	if len(there.Status.LoadBalancer.Ingress) > 0 {
		return nil
	}
	address, err := balancerAddress(env.Spec.App, s)
	if err != nil {
		return err
	}
	vip := corev1.LoadBalancerIPModeVIP
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"loadBalancer": corev1.LoadBalancerStatus{
		Ingress: []corev1.LoadBalancerIngress{{IP: address.String(), IPMode: &vip}},
	}}})
	if err != nil {
		return err
	}
	if _, err := services.Patch(ctx, s.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: deploy.FieldManager}, "status"); err != nil {
		return fmt.Errorf("give Service %s address %s: %w", s.Name, address, err)
	}
	return nil
}
