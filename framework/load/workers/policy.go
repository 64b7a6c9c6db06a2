package workers

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-ha/holdfast/workloads"
)

// end is one end of a connection, as NetworkPolicies select it.
type end struct {
	namespace  map[string]string // labels of its namespace
	name       string            // of its namespace
	pod        map[string]string // labels
	ip         string
	port       int32
	namedPorts map[string]int32
}

// blocks returns the policies of a namespace that select one end, in one direction, and none of which allows the other end. None: nothing
// is blocked, as far as NetworkPolicies tell.
//
// Source: https://kubernetes.io/docs/concepts/services-networking/network-policies/#the-two-sorts-of-pod-isolation
func blocks(policies []networkingv1.NetworkPolicy, direction networkingv1.PolicyType, selected, other, server end) (names []string) {
	for _, p := range policies {
		if !slices.Contains(directions(p), direction) || !selects(&p.Spec.PodSelector, selected.pod) {
			continue
		}
		if allows(p, direction, selected, other, server) {
			return nil
		}
		names = append(names, p.Name)
	}
	return names
}

// directions are those that a policy is about. Without any it is about Ingress, and about Egress if it has rules for it.
func directions(p networkingv1.NetworkPolicy) []networkingv1.PolicyType {
	if len(p.Spec.PolicyTypes) > 0 {
		return p.Spec.PolicyTypes
	}
	if len(p.Spec.Egress) > 0 {
		return []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}
	}
	return []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
}

func allows(p networkingv1.NetworkPolicy, direction networkingv1.PolicyType, selected, other, server end) bool {
	if direction == networkingv1.PolicyTypeIngress {
		return slices.ContainsFunc(p.Spec.Ingress, func(r networkingv1.NetworkPolicyIngressRule) bool {
			return permits(r.From, r.Ports, selected, other, server)
		})
	}
	return slices.ContainsFunc(p.Spec.Egress, func(r networkingv1.NetworkPolicyEgressRule) bool {
		return permits(r.To, r.Ports, selected, other, server)
	})
}

// permits reports whether a rule has the other end among its peers, and the server's port among its ports. A rule without peers, or
// without ports, is about all of them.
func permits(peers []networkingv1.NetworkPolicyPeer, ports []networkingv1.NetworkPolicyPort, selected, other, server end) bool {
	peer := len(peers) == 0 || slices.ContainsFunc(peers, func(p networkingv1.NetworkPolicyPeer) bool { return isPeer(p, selected, other) })
	port := len(ports) == 0 || slices.ContainsFunc(ports, func(p networkingv1.NetworkPolicyPort) bool { return isPort(p, server) })
	return peer && port
}

func isPeer(p networkingv1.NetworkPolicyPeer, selected, other end) bool {
	if p.IPBlock != nil {
		return inBlock(*p.IPBlock, other.ip)
	}
	if p.NamespaceSelector == nil && other.name != selected.name {
		return false
	}
	return (p.NamespaceSelector == nil || selects(p.NamespaceSelector, other.namespace)) &&
		(p.PodSelector == nil || selects(p.PodSelector, other.pod))
}

func inBlock(b networkingv1.IPBlock, ip string) bool {
	address, err := netip.ParseAddr(ip)
	within := func(cidr string) bool {
		prefix, bad := netip.ParsePrefix(cidr)
		return err == nil && bad == nil && prefix.Contains(address)
	}
	return within(b.CIDR) && !slices.ContainsFunc(b.Except, within)
}

func isPort(p networkingv1.NetworkPolicyPort, server end) bool {
	if p.Protocol != nil && *p.Protocol != corev1.ProtocolTCP {
		return false
	}
	switch {
	case p.Port == nil:
		return true
	case p.Port.Type == intstr.String:
		return server.namedPorts[p.Port.StrVal] == server.port
	case p.EndPort != nil:
		return server.port >= p.Port.IntVal && server.port <= *p.EndPort
	}
	return server.port == p.Port.IntVal
}

// selects reports whether a selector matches. One that cannot be read matches nothing.
func selects(s *metav1.LabelSelector, set map[string]string) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(labels.Set(set))
}

// loadPeer selects the load workers of any run: their namespaces have a label of holdfast's and names that nobody knows beforehand.
func loadPeer() networkingv1.NetworkPolicyPeer {
	return networkingv1.NetworkPolicyPeer{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{workloads.LabelPartOf: workloads.PartOf}},
		PodSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{workloads.LabelComponent: workloads.ComponentLoad}},
	}
}

// ingress is the NetworkPolicy that lets load workers reach the target's pods.
func (t target) ingress() *networkingv1.NetworkPolicy {
	return policy(t.service.Namespace, t.service.Spec.Selector, networkingv1.NetworkPolicySpec{
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
		Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{loadPeer()}, Ports: t.ports()}},
	})
}

// egress is the NetworkPolicy that lets the load workers of a namespace reach the target's pods.
func (t target) egress(namespace string) *networkingv1.NetworkPolicy {
	to := networkingv1.NetworkPolicyPeer{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: t.service.Namespace}},
		PodSelector:       &metav1.LabelSelector{MatchLabels: t.service.Spec.Selector},
	}
	return policy(namespace, map[string]string{workloads.LabelComponent: workloads.ComponentLoad}, networkingv1.NetworkPolicySpec{
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress},
		Egress:      []networkingv1.NetworkPolicyEgressRule{{To: []networkingv1.NetworkPolicyPeer{to}, Ports: t.ports()}},
	})
}

func (t target) ports() []networkingv1.NetworkPolicyPort {
	tcp, port := corev1.ProtocolTCP, intstr.FromInt32(t.number)
	return []networkingv1.NetworkPolicyPort{{Protocol: &tcp, Port: &port}}
}

func policy(namespace string, pods map[string]string, spec networkingv1.NetworkPolicySpec) *networkingv1.NetworkPolicy {
	spec.PodSelector = metav1.LabelSelector{MatchLabels: pods}
	return &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "allow-holdfast-load"}, Spec: spec,
	}
}

// printed is an object as YAML.
func printed(o any) string {
	text, err := yaml.Marshal(o)
	if err != nil { // a map of texts and numbers, which always can be written
		return fmt.Sprintf("%+v", o)
	}
	return strings.TrimSpace(string(text))
}
