package environment

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
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
