package workers

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/holdfast-ha/holdfast/framework/prose"
)

// target is what is behind the address of a Service, as one of its pods is seen by policies.
type target struct {
	service corev1.Service
	pod     corev1.Pod
	port    corev1.ServicePort
	number  int32 // of the pod's port
}

// targetOf finds what is behind a URL with a Service's cluster IP or name, among the Services of some namespaces, or of all if none is named.
func (p Pods) targetOf(ctx context.Context, address string, namespaces []string) (t target, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return t, err
	}
	port, err := strconv.Atoi(portOf(u))
	if err != nil {
		return t, fmt.Errorf("%s has no port: %w", address, err)
	}
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	for _, namespace := range namespaces {
		list, err := p.Client.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return t, fmt.Errorf("list the Services of namespace %s: %w", namespace, err)
		}
		for _, s := range list.Items {
			at := slices.IndexFunc(s.Spec.Ports, func(q corev1.ServicePort) bool { return q.Port == int32(port) })
			if at >= 0 && isOf(s, u.Hostname()) {
				t.service, t.port = s, s.Spec.Ports[at]
				return t, p.findPod(ctx, &t)
			}
		}
	}
	return t, fmt.Errorf("no Service of %s has the address %s", within(namespaces), u.Host)
}

func within(namespaces []string) string {
	if slices.Contains(namespaces, metav1.NamespaceAll) {
		return "any namespace"
	}
	return "namespace " + prose.List(namespaces)
}

// isOf reports whether a host is the cluster IP of a Service, or its name in the cluster.
func isOf(s corev1.Service, host string) bool {
	name := s.Name + "." + s.Namespace
	return host == s.Spec.ClusterIP || host == name || host == name+".svc" || strings.HasPrefix(host, name+".svc.")
}

// portOf is the port of a URL, or that of its scheme.
func portOf(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	if u.Scheme == "https" || u.Scheme == "wss" {
		return "443"
	}
	return "80"
}

// findPod finds a pod behind the target's Service, and the number of its port.
func (p Pods) findPod(ctx context.Context, t *target) error {
	selector := labels.SelectorFromSet(t.service.Spec.Selector).String()
	list, err := p.Client.CoreV1().Pods(t.service.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return fmt.Errorf("list the pods of Service %s/%s: %w", t.service.Namespace, t.service.Name, err)
	}
	if len(list.Items) == 0 || len(t.service.Spec.Selector) == 0 {
		return fmt.Errorf("no pod is behind Service %s/%s", t.service.Namespace, t.service.Name)
	}
	t.pod = list.Items[0]
	t.number = t.port.Port
	switch to := t.port.TargetPort; {
	case to.Type == intstr.Int && to.IntVal > 0:
		t.number = to.IntVal
	case to.Type == intstr.String:
		for _, c := range t.pod.Spec.Containers {
			for _, q := range c.Ports {
				if q.Name == to.StrVal {
					t.number = q.ContainerPort
				}
			}
		}
	}
	return nil
}

// sidecar is the proxy of a mesh in the target's pod; empty: there is none.
func (t target) sidecar() string {
	for _, c := range slices.Concat(t.pod.Spec.InitContainers, t.pod.Spec.Containers) { // native sidecars are init containers
		if c.Name == "istio-proxy" || c.Name == "linkerd-proxy" {
			return c.Name
		}
	}
	return ""
}
