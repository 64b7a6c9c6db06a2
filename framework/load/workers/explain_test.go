package workers

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/collect"
	"github.com/holdfast-ha/holdfast/framework/load/reach"
	"github.com/holdfast-ha/holdfast/workloads"
)

const shopURL = "http://10.96.0.7:80/cart"

func meta(namespace, name string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}
}

// shop is a Service whose pods listen on a named port, and a load worker.
func shop(containers ...string) []runtime.Object {
	app := map[string]string{"app": "shop"}
	pod := &corev1.Pod{ObjectMeta: meta("shop", "shop-1", map[string]string{"app": "shop", "pod-template-hash": "x"}), Status: corev1.PodStatus{PodIP: "10.244.1.5"}}
	pod.Spec.Containers = []corev1.Container{{Name: "shop", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}}}}
	for _, name := range containers {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{Name: name})
	}
	service := &corev1.Service{ObjectMeta: meta("shop", "shop", nil), Spec: corev1.ServiceSpec{
		ClusterIP: "10.96.0.7", Selector: app, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromString("http")}},
	}}
	return []runtime.Object{
		service, pod, podOfLoad(), &corev1.Namespace{ObjectMeta: meta("", "shop", map[string]string{"team": "a"})},
		&corev1.Namespace{ObjectMeta: meta("", namespace, map[string]string{workloads.LabelPartOf: workloads.PartOf})},
	}
}

func podOfLoad() *corev1.Pod {
	p := pod(0)
	p.Labels[workloads.LabelComponent] = workloads.ComponentLoad
	p.Status.PodIP = "10.244.2.9"
	return p
}

func unreached(outcome history.Outcome) []collect.Unreached {
	return []collect.Unreached{{Trial: reach.Trial{Lane: "fresh", Target: shopURL, Outcome: outcome, Err: "i/o timeout"}}}
}

// parsed is a policy from YAML.
func parsed(t *testing.T, namespace, name, spec string) *networkingv1.NetworkPolicy {
	t.Helper()
	p := &networkingv1.NetworkPolicy{ObjectMeta: meta(namespace, name, nil)}
	if err := yaml.UnmarshalStrict([]byte(spec), &p.Spec); err != nil {
		t.Fatal(err)
	}
	return p
}

// What blocks the load is named, and the policy that is missing is printed so that it can be applied: then nothing blocks it.
func TestTheMissingPolicy(t *testing.T) {
	const deny = "podSelector: {}\npolicyTypes: [Ingress]"
	for name, test := range map[string]struct {
		policies []*networkingv1.NetworkPolicy
		want     string // the policies that deny; empty: none does
	}{
		"deny all": {[]*networkingv1.NetworkPolicy{parsed(t, "shop", "deny", deny)}, "namespace shop denies it: no NetworkPolicy among those that apply (deny)"},
		"clients are let in, and we are none": {[]*networkingv1.NetworkPolicy{
			parsed(t, "shop", "deny", deny),
			parsed(t, "shop", "clients", "podSelector: {matchLabels: {app: shop}}\ningress:\n- from:\n  - namespaceSelector: {matchLabels: {team: b}}"),
		}, "namespace shop denies it: no NetworkPolicy among those that apply (clients and deny)"},
		"pods of its own namespace are let in": {[]*networkingv1.NetworkPolicy{
			parsed(t, "shop", "own", "podSelector: {}\ningress:\n- from:\n  - podSelector: {}"),
		}, "(own)"},
		"another port is open": {[]*networkingv1.NetworkPolicy{
			parsed(t, "shop", "ports", "podSelector: {}\ningress:\n- ports:\n  - {port: 9090}\n  - {port: http, protocol: UDP}"),
		}, "(ports)"},
		"our addresses are excepted": {[]*networkingv1.NetworkPolicy{
			parsed(t, "shop", "cidr", "podSelector: {}\ningress:\n- from:\n  - ipBlock: {cidr: 10.244.0.0/16, except: [10.244.2.0/24]}"),
		}, "(cidr)"},
		"our own namespace lets nothing out": {[]*networkingv1.NetworkPolicy{
			parsed(t, namespace, "no-egress", "podSelector: {}\npolicyTypes: [Egress]"),
		}, "namespace hf-test denies it: no NetworkPolicy among those that apply (no-egress)"},
		"nothing is denied":  {nil, ""},
		"others are denied":  {[]*networkingv1.NetworkPolicy{parsed(t, "shop", "db", "podSelector: {matchLabels: {app: db}}")}, ""},
		"only way out":       {[]*networkingv1.NetworkPolicy{parsed(t, "shop", "out", "podSelector: {}\npolicyTypes: [Egress]")}, ""},
		"one of two allows":  {[]*networkingv1.NetworkPolicy{parsed(t, "shop", "deny", deny), parsed(t, "shop", "all", "podSelector: {}\ningress:\n- {}")}, ""},
		"the named port is":  {[]*networkingv1.NetworkPolicy{parsed(t, "shop", "ports", "podSelector: {}\ningress:\n- ports:\n  - {port: http}")}, ""},
		"the port range has": {[]*networkingv1.NetworkPolicy{parsed(t, "shop", "ports", "podSelector: {}\ningress:\n- ports:\n  - {port: 8000, endPort: 8100}")}, ""},
		"our address is in":  {[]*networkingv1.NetworkPolicy{parsed(t, "shop", "cidr", "podSelector: {}\ningress:\n- from:\n  - ipBlock: {cidr: 10.244.0.0/16}")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset(shop()...)
			for _, p := range test.policies {
				if err := client.Tracker().Add(p); err != nil {
					t.Fatal(err)
				}
			}
			no := &collect.UnreachedError{Workers: 4, All: unreached(history.TimeoutConnect)}
			err := podsOf(client).Explain(t.Context(), nil, no, "shop")
			var kept *collect.UnreachedError
			if !errors.As(err, &kept) || !strings.HasPrefix(err.Error(), "no load is sent: 1 of 4 load workers cannot reach "+shopURL+": timeout-connect (i/o timeout)\n") {
				t.Fatal(err)
			}
			want := test.want
			if want == "" {
				want = "no NetworkPolicy is in the way to Service shop/shop: look for a policy of the network plugin's own kind, or for a firewall"
			}
			if !strings.Contains(err.Error(), want) {
				t.Errorf("got %s\nwant %s", err, want)
			}
			// Apply what is printed, as a user would.
			_, text, _ := strings.Cut(err.Error(), "apiVersion:")
			var missing networkingv1.NetworkPolicy
			if err := yaml.UnmarshalStrict([]byte("apiVersion:"+text), &missing); err != nil {
				t.Fatal(err)
			}
			if err := client.Tracker().Add(&missing); err != nil {
				t.Fatal(err)
			}
			if err := podsOf(client).Explain(t.Context(), nil, no, "shop"); !strings.Contains(err.Error(), "no NetworkPolicy is in the way") {
				t.Errorf("with what was printed: %s", err)
			}
		})
	}
}

// Where it cannot be known what blocks the load, that is said.
func TestWhyIsNotKnown(t *testing.T) {
	no := &collect.UnreachedError{Workers: 1, All: unreached(history.Unreachable)}
	for want, objects := range map[string][]runtime.Object{
		"why is not known: no Service of namespace shop has the address 10.96.0.7:80": nil,
		"why is not known: no pod is behind Service shop/shop":                        {shop()[0]},
		"why is not known: there is no load worker":                                   {shop()[0], shop()[1]},
		"why is not known: read the labels of namespace":                              {shop()[0], shop()[1], shop()[2]},
	} {
		err := podsOf(fake.NewClientset(objects...)).Explain(t.Context(), nil, no, "shop")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := podsOf(fake.NewClientset()).Explain(t.Context(), nil, errors.New("no network")); err == nil || err.Error() != "no network" {
		t.Errorf("another error: %v", err)
	}
	if err := podsOf(fake.NewClientset()).Explain(t.Context(), nil, nil, "shop"); err != nil {
		t.Errorf("nothing broke: %v", err)
	}
}

// A probe of a recording has the name of a Service rather than its address, and all namespaces may be recorded.
func TestTheMissingPolicyForANamedService(t *testing.T) {
	client := fake.NewClientset(shop()...)
	if err := client.Tracker().Add(parsed(t, "shop", "deny", "podSelector: {}\npolicyTypes: [Ingress]")); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"http://shop.shop/cart", "http://shop.shop.svc.cluster.local/"} {
		u := unreached(history.TimeoutConnect)
		u[0].Target = target
		err := podsOf(client).Explain(t.Context(), nil, &collect.UnreachedError{Workers: 1, All: u})
		if err == nil || !strings.Contains(err.Error(), "namespace shop denies it: no NetworkPolicy among those that apply (deny)") {
			t.Errorf("%s: %v", target, err)
		}
	}
}

// A connection that a mesh breaks is no failure of the server, and what the mesh demands is said.
func TestAMeshThatWantsMembersOnly(t *testing.T) {
	for sidecar, want := range map[string]string{
		"istio-proxy":   "the istio-proxy of pod shop-1 takes part in a mesh, and the load workers do not",
		"linkerd-proxy": "the linkerd-proxy of pod shop-1 takes part in a mesh",
		"logs":          "", // the server itself breaks its connections: the verdicts are about that
	} {
		err := podsOf(fake.NewClientset(shop(sidecar)...)).Explain(t.Context(), unreached(history.Reset), nil, "shop")
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", sidecar, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %s", sidecar, err, want)
		}
		if sidecar == "istio-proxy" && !strings.Contains(err.Error(), "kind: PeerAuthentication\nmetadata:\n  name: allow-holdfast-load\n  namespace: shop\nspec:\n  portLevelMtls:\n    \"8080\":\n      mode: PERMISSIVE\n  selector:\n    matchLabels:\n      app: shop") {
			t.Errorf("got %v", err)
		}
	}
}
