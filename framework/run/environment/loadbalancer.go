package environment

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-ha/holdfast/framework/deploy"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

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
