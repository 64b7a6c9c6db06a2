package workers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/framework/load/collect"
	"github.com/holdfast-ha/holdfast/framework/prose"
)

// Explain adds to what Reach found why load workers get no answer, and what would let them: the NetworkPolicy that is missing, or what a
// mesh demands. It looks at Services, pods and policies of the namespaces that targets are in. nil: nothing keeps the workers from their
// targets, or only the servers themselves.
func (p Pods) Explain(ctx context.Context, broke []collect.Unreached, err error, namespaces ...string) error {
	var no *collect.UnreachedError
	switch {
	case errors.As(err, &no):
		words := []string{err.Error()}
		for _, u := range no.Targets() {
			words = append(words, p.whyBlocked(ctx, u, namespaces))
		}
		return &explained{UnreachedError: no, text: "no load is sent: " + strings.Join(words, "\n")}
	case err != nil:
		return err
	}
	return p.mesh(ctx, broke, namespaces)
}

// explained is an UnreachedError with the reasons.
type explained struct {
	*collect.UnreachedError
	text string
}

func (e *explained) Error() string { return e.text }

// Unwrap returns the UnreachedError.
func (e *explained) Unwrap() error { return e.UnreachedError }

// whyBlocked says why packets to a target are dropped.
func (p Pods) whyBlocked(ctx context.Context, u collect.Unreached, namespaces []string) string {
	t, err := p.targetOf(ctx, u.Target, namespaces)
	if err != nil {
		return fmt.Sprintf("why is not known: %s", err)
	}
	name := t.service.Namespace + "/" + t.service.Name
	client, server, err := p.ends(ctx, t)
	if err != nil {
		return fmt.Sprintf("why is not known: %s", err)
	}
	var words []string
	for _, side := range []struct {
		namespace       string
		direction       networkingv1.PolicyType
		selected, other end
		missing         *networkingv1.NetworkPolicy
	}{
		{t.service.Namespace, networkingv1.PolicyTypeIngress, server, client, t.ingress()},
		{p.Namespace, networkingv1.PolicyTypeEgress, client, server, t.egress(p.Namespace)},
	} {
		list, err := p.Client.NetworkingV1().NetworkPolicies(side.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			words = append(words, fmt.Sprintf("whether a NetworkPolicy of namespace %s is in the way is not known: %s", side.namespace, err))
			continue
		}
		if by := blocks(list.Items, side.direction, side.selected, side.other, server); len(by) > 0 {
			words = append(words, fmt.Sprintf("namespace %s denies it: no NetworkPolicy among those that apply (%s) lets load workers connect to Service %s. This one is missing:\n%s",
				side.namespace, prose.List(by), name, printed(side.missing)))
		}
	}
	if len(words) == 0 {
		return fmt.Sprintf("no NetworkPolicy is in the way to Service %s: look for a policy of the network plugin's own kind, or for a firewall. "+
			"Where all is denied that no NetworkPolicy allows, this one lets the load workers in:\n%s", name, printed(t.ingress()))
	}
	return strings.Join(words, "\n")
}

// ends are a load worker and the target's pod.
func (p Pods) ends(ctx context.Context, t target) (client, server end, err error) {
	pods, err := p.list(ctx)
	if err != nil {
		return client, server, err
	}
	if len(pods) == 0 {
		return client, server, errors.New("there is no load worker")
	}
	client = endAt(pods[0])
	server = endAt(t.pod)
	server.port = t.number
	for _, e := range []*end{&client, &server} {
		n, err := p.Client.CoreV1().Namespaces().Get(ctx, e.name, metav1.GetOptions{})
		if err != nil {
			return client, server, fmt.Errorf("read the labels of namespace %s: %w", e.name, err)
		}
		e.namespace = maps.Clone(n.Labels)
		if e.namespace == nil {
			e.namespace = map[string]string{}
		}
		e.namespace[corev1.LabelMetadataName] = e.name // as the API server sets it
	}
	return client, server, nil
}

func endAt(p corev1.Pod) end {
	e := end{name: p.Namespace, pod: p.Labels, ip: p.Status.PodIP, namedPorts: map[string]int32{}}
	for _, c := range p.Spec.Containers {
		for _, q := range c.Ports {
			e.namedPorts[q.Name] = q.ContainerPort
		}
	}
	return e
}

// mesh returns an error for connections that the proxy of a mesh in the target's pods has broken. Load workers are no members of any mesh:
// see workloads.Load.
func (p Pods) mesh(ctx context.Context, broke []collect.Unreached, namespaces []string) error {
	var words []string
	for _, u := range (&collect.UnreachedError{All: broke}).Targets() {
		t, err := p.targetOf(ctx, u.Target, namespaces)
		if err != nil || t.sidecar() == "" { // then the server itself breaks them, which the verdicts are about
			continue
		}
		words = append(words, fmt.Sprintf("%s: %s (%s): the %s of pod %s takes part in a mesh, and the load workers do not: their pods have no sidecar, "+
			"which would answer in the server's place. Let the mesh accept plain connections from them", u.Target, u.Outcome, u.Err, t.sidecar(), t.pod.Name))
		if t.sidecar() == "istio-proxy" {
			words = append(words, printed(t.permissive()))
		}
	}
	if len(words) == 0 {
		return nil
	}
	return fmt.Errorf("no load is sent: %s", strings.Join(words, "\n"))
}

// permissive is what lets Istio accept plain connections to the target's port, besides those of its mesh.
//
// Source: https://istio.io/latest/docs/reference/config/security/peer_authentication/
func (t target) permissive() map[string]any {
	return map[string]any{
		"apiVersion": "security.istio.io/v1", "kind": "PeerAuthentication",
		"metadata": map[string]any{"namespace": t.service.Namespace, "name": "allow-holdfast-load"},
		"spec": map[string]any{
			"selector":      map[string]any{"matchLabels": t.service.Spec.Selector},
			"portLevelMtls": map[string]any{fmt.Sprint(t.number): map[string]any{"mode": "PERMISSIVE"}},
		},
	}
}
