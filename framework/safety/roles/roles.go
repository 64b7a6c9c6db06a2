package roles

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/holdfast-ha/holdfast/framework/safety/catalogue"
)

// The names of what is made.
const (
	Injector = "holdfast-injector"
	Healer   = "holdfast-healer"
)

// Request is for whom, and for what, the Roles are.
type Request struct {
	Faults []catalogue.Fault
	// Namespace is that of the application, and Neighbours are those of other pods on nodes that are drained.
	Namespace  string
	Neighbours []string
	// Home is holdfast's own namespace.
	Home string
	// Injector is who runs holdfast; the zero value: a ServiceAccount of the namespace Home, which is made as well.
	Injector rbacv1.Subject
	// APIServers are the addresses (CIDRs) from which API servers reach pods. None: no NetworkPolicy is made.
	APIServers []string
}

// Validate returns an error for a request that would grant too much or nothing.
func (r Request) Validate() error {
	switch {
	case len(r.Faults) == 0:
		return errors.New("no faults: name them with --faults, such as rollout,drain")
	case r.Namespace == "":
		return errors.New("no namespace: name that of the application with --namespace")
	case r.Namespace == r.Home || slices.Contains(r.Neighbours, r.Home):
		return fmt.Errorf("namespace %s is holdfast's own, and nothing in it is disturbed", r.Home)
	}
	for _, cidr := range r.APIServers {
		if _, err := netip.ParsePrefix(cidr); err != nil {
			return fmt.Errorf("addresses of API servers %q: want a CIDR, such as 10.0.0.0/28", cidr)
		}
	}
	for _, n := range append([]string{r.Namespace}, r.Neighbours...) {
		if strings.HasPrefix(n, "kube-") {
			return fmt.Errorf("namespace %s is Kubernetes' own, and nothing in it is disturbed", n)
		}
	}
	return nil
}

// Object is an object to apply, and what its reader must know.
type Object struct {
	runtime.Object
	Notes []string
}

// Objects are what an administrator applies: holdfast's namespace, two ServiceAccounts, and the Roles with their bindings.
func (r Request) Objects() ([]Object, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	healer := account(r.Home, Healer)
	all := []Object{{Object: r.home(), Notes: []string{
		"holdfast's own namespace: the Lease, the load workers and the healer. Its pods run under the Pod Security Standard restricted.",
	}}}
	if len(r.APIServers) > 0 {
		all = append(all, Object{Object: r.policy(), Notes: []string{
			"only API servers reach these pods: by the addresses given, or through an agent in kube-system. Load workers send what they are told to.",
		}})
	} else {
		all[0].Notes = append(all[0].Notes, "Every pod reaches its pods, which refuse calls without the token of their run. With --api-servers, a NetworkPolicy is printed as well.")
	}
	who := r.Injector
	if who == (rbacv1.Subject{}) {
		who = subject(r.Home, Injector)
		all = append(all, Object{Object: account(r.Home, Injector)})
	}
	all = append(all, Object{Object: healer})
	all = append(all, r.granted(Injector, who, catalogue.Injecting(r.Faults))...)
	return append(all, r.granted(Healer, subject(r.Home, Healer), catalogue.Healing(r.Faults))...), nil
}

func (r Request) home() *corev1.Namespace {
	return &corev1.Namespace{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: r.Home, Labels: map[string]string{
			"app.kubernetes.io/part-of": "holdfast", "pod-security.kubernetes.io/enforce": "restricted",
		}},
	}
}

// policy lets nothing but API servers, and kubelets, which no policy keeps out, reach the pods of holdfast's own namespace.
func (r Request) policy() *networkingv1.NetworkPolicy {
	peers := []networkingv1.NetworkPolicyPeer{{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: metav1.NamespaceSystem}},
	}}
	for _, cidr := range r.APIServers {
		peers = append(peers, networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: cidr}})
	}
	return &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: "NetworkPolicy"},
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Home, Name: "api-servers-only"},
		Spec: networkingv1.NetworkPolicySpec{
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: peers}},
		},
	}
}

func account(namespace, name string) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
	}
}

func subject(namespace, name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}
}

// granted are a Role, or a ClusterRole, and its binding for each place in which there are rights.
func (r Request) granted(name string, to rbacv1.Subject, rights []catalogue.Right) (all []Object) {
	by := map[string][]catalogue.Right{} // the rights in each namespace; "" is everywhere
	for _, right := range rights {
		for _, namespace := range right.Where.Namespaces(r.Namespace, r.Home, r.Neighbours) {
			by[namespace] = append(by[namespace], right)
		}
	}
	for _, namespace := range append([]string{""}, r.order()...) {
		if of := catalogue.Distinct(by[namespace]); len(of) > 0 {
			all = append(all, role(name, namespace, of), Object{Object: binding(name, namespace, to)})
		}
	}
	return all
}

// order is the order of the namespaces.
func (r Request) order() (all []string) {
	for _, n := range slices.Concat([]string{r.Namespace}, r.Neighbours, []string{r.Home, metav1.NamespaceSystem, metav1.NamespaceDefault}) {
		if !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

// role is a Role in a namespace, or a ClusterRole.
func role(name, namespace string, rights []catalogue.Right) Object {
	var notes []string
	for _, right := range rights {
		if right.Why != "" {
			notes = append(notes, fmt.Sprintf("%s: %s.", right, right.Why))
		}
	}
	if namespace == "" {
		return Object{Notes: notes, Object: &rbacv1.ClusterRole{
			TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
			ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rulesOf(rights),
		}}
	}
	return Object{Notes: notes, Object: &rbacv1.Role{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Rules: rulesOf(rights),
	}}
}

func binding(name, namespace string, to rbacv1.Subject) runtime.Object {
	if namespace == "" {
		return &rbacv1.ClusterRoleBinding{
			TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRoleBinding"},
			ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: []rbacv1.Subject{to},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		}
	}
	return &rbacv1.RoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Subjects: []rbacv1.Subject{to},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
	}
}

// rulesOf are rights as rules: one rule for all resources of a group that have the same verbs.
func rulesOf(rights []catalogue.Right) (rules []rbacv1.PolicyRule) {
	verbs := map[string][]string{} // of each resource
	var order []string
	of := map[string]catalogue.Right{}
	for _, r := range rights {
		key := r.Group + " " + r.Path() + " " + r.Name
		if _, known := of[key]; !known {
			order = append(order, key)
		}
		of[key], verbs[key] = r, append(verbs[key], r.Verb)
	}
	for _, key := range order {
		r, does := of[key], verbs[key]
		i := slices.IndexFunc(rules, func(rule rbacv1.PolicyRule) bool {
			return rule.APIGroups[0] == r.Group && slices.Equal(rule.Verbs, does) && cmp.Or(r.Name, "") == first(rule.ResourceNames)
		})
		if i >= 0 {
			rules[i].Resources = append(rules[i].Resources, r.Path())
			continue
		}
		rule := rbacv1.PolicyRule{APIGroups: []string{r.Group}, Resources: []string{r.Path()}, Verbs: does}
		if r.Name != "" {
			rule.ResourceNames = []string{r.Name}
		}
		rules = append(rules, rule)
	}
	return rules
}

func first(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}
