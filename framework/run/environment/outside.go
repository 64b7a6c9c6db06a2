package environment

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

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
