package recording

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"
)

const route = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: shop}
spec:
  hostnames: ["api.example.com"]
  rules:
  - matches: [{path: {value: /orders}}]
    backendRefs: [{name: orders, port: 80}, {name: orders-canary, namespace: canary, port: 80}, {name: old, port: 80}]
  - backendRefs: [{name: rest, port: 80}, {kind: Bucket, name: files}, {name: away, port: 80, weight: 0}]
`

// reachable has Services that are reached in all ways.
func reachable(t *testing.T) (*fake.Clientset, *Finder) {
	t.Helper()
	service := func(name string, edit func(*corev1.Service)) *corev1.Service {
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
		s.Spec.Ports = []corev1.ServicePort{{Port: 80}}
		edit(s)
		return s
	}
	path := func(p, service string) networkingv1.HTTPIngressPath {
		return networkingv1.HTTPIngressPath{Path: p, Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: service}}}
	}
	ingress := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "in"}}
	ingress.Spec.Rules = []networkingv1.IngressRule{
		{Host: "shop.example.com", IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{path("/", "web"), path("/cart", "cart")}}}},
		{Host: "*.wild.example.com", IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{path("/", "wild")}}}},
		{IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{path("/", "any")}}}},
	}
	api := ingress.DeepCopy()
	api.Name, api.Spec.Rules = "api", []networkingv1.IngressRule{{Host: "shop.example.com", IngressRuleValue: networkingv1.IngressRuleValue{
		HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{path("/api/", "api")}}}}}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w1"}, Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.5"}}}}
	client := fake.NewClientset(
		service("web", func(s *corev1.Service) {
			s.Spec.ClusterIP, s.Spec.ClusterIPs = "10.96.0.7", []string{"10.96.0.7", "fd00::7"}
		}),
		service("port", func(s *corev1.Service) { s.Spec.Ports[0].NodePort = 30080 }),
		service("balanced", func(s *corev1.Service) {
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}, {Hostname: "lb.example.com"}}
		}),
		service("external", func(s *corev1.Service) { s.Spec.ExternalIPs = []string{"192.0.2.9"} }),
		ingress, api, node,
	)
	var o unstructured.Unstructured
	text, err := yaml.YAMLToJSON([]byte(route))
	if err == nil {
		err = o.UnmarshalJSON(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[schema.GroupVersionResource]string{routes: "HTTPRouteList"}
	return client, FinderOf(client, dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, &o), []string{"shop"})
}

func TestFind(t *testing.T) {
	_, f := reachable(t)
	for url, want := range map[string]string{
		"http://web.shop/":                    "shop/web",
		"http://web.shop.svc:80/x":            "shop/web",
		"http://web.shop.svc.cluster.local./": "shop/web",
		"http://10.96.0.7/":                   "shop/web",
		"http://[fd00::7]/":                   "shop/web",
		"http://web.shop:81/":                 "", // no such port
		"http://web.other/":                   "",
		"http://web.shopping/":                "",
		"http://10.0.0.5:30080/":              "shop/port",
		"http://10.0.0.6:30080/":              "", // no node of this cluster
		"http://localhost:30080/":             "",
		"http://192.0.2.1/":                   "shop/balanced",
		"http://lb.example.com/":              "shop/balanced",
		"tcp://192.0.2.9:80":                  "shop/external",
		"https://shop.example.com/":           "shop/web",
		"https://shop.example.com":            "shop/web",
		"https://shop.example.com/api/1":      "shop/api", // another Ingress has the longer path
		"https://shop.example.com/cart/1":     "shop/cart",
		"https://shop.example.com/cartoon":    "shop/web",
		"https://a.wild.example.com/":         "shop/wild",
		"https://wild.example.com/":           "",
		"https://elsewhere.example.com/":      "", // a rule without a host is for any host, also of other clusters
		"https://api.example.com/orders/7":    "canary/orders-canary shop/old shop/orders",
		"https://api.example.com/":            "shop/rest",
		"ws://web.shop/socket":                "shop/web",
	} {
		got, err := f.Find(t.Context(), url)
		if err != nil || strings.Join(got.Services, " ") != want || (got.Why == "") != (want != "") {
			t.Errorf("%s: %+v, %v; want %q", url, got, err, want)
		}
	}
}

// TestSticky: where a client does not come to all pods of a Service, a recording says so, of each URL by itself and in any order.
func TestSticky(t *testing.T) {
	client, f := reachable(t)
	edit := func(name string, of func(*corev1.ServiceSpec)) {
		t.Helper()
		s, err := client.CoreV1().Services("shop").Get(t.Context(), name, metav1.GetOptions{})
		if err == nil {
			of(&s.Spec)
			_, err = client.CoreV1().Services("shop").Update(t.Context(), s, metav1.UpdateOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	local := corev1.ServiceInternalTrafficPolicyLocal
	edit("web", func(s *corev1.ServiceSpec) { s.SessionAffinity = corev1.ServiceAffinityClientIP })
	edit("port", func(s *corev1.ServiceSpec) { s.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal })
	edit("external", func(s *corev1.ServiceSpec) { s.InternalTrafficPolicy, s.ClusterIP = &local, "10.96.0.9" })
	in, err := client.NetworkingV1().Ingresses("shop").Get(t.Context(), "in", metav1.GetOptions{})
	if err == nil {
		in.Annotations = map[string]string{"haproxy.org/load-balance": "source"}
		in.Spec.Rules[0].HTTP.Paths[1].Backend.Service.Name = "port"
		_, err = client.NetworkingV1().Ingresses("shop").Update(t.Context(), in, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	const hashes = "haproxy.org/load-balance: source"
	for range 2 {
		for url, want := range map[string]string{
			"http://web.shop/": "sessionAffinity ClientIP of Service web", "https://shop.example.com/": hashes, "https://shop.example.com/cart/1": hashes,
			"http://10.0.0.5:30080/": "externalTrafficPolicy Local of Service port", "http://port.shop/": "", "http://10.96.0.9/": "internalTrafficPolicy Local of Service external",
			"http://external.shop/": "internalTrafficPolicy Local of Service external", "http://192.0.2.9/": "", "http://192.0.2.1/": "", "https://nowhere.example.com/": "",
		} {
			if got, err := f.Find(t.Context(), url); err != nil || got.Sticky != want {
				t.Errorf("%s: %+v, %v; want %q", url, got, err, want)
			}
		}
	}
}

// What cannot be read is not known, and the reason is given. An API server that fails is an error.
func TestFindWithoutPermission(t *testing.T) {
	for name, test := range map[string]struct {
		err error
		why string
	}{
		"forbidden": {apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "", errors.New("no")), "services is forbidden"},
		"fails":     {apierrors.NewInternalError(errors.New("etcd is away")), ""},
	} {
		client, f := reachable(t)
		client.PrependReactor("list", "services", func(k8stesting.Action) (bool, runtime.Object, error) { return true, nil, test.err })
		got, err := f.Find(t.Context(), "http://web.shop/")
		if len(got.Services) > 0 || (err != nil) != (test.why == "") || !strings.Contains(got.Why, test.why) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// Without permission to list nodes, an address with a node port is taken for one of a node, but not a loopback address.
func TestFindWithoutNodes(t *testing.T) {
	client, f := reachable(t)
	client.PrependReactor("list", "nodes", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "", errors.New("no"))
	})
	for url, want := range map[string][]string{"http://10.0.0.6:30080/": {"shop/port"}, "http://127.0.0.1:30080/": nil} {
		if got, err := f.Find(context.WithoutCancel(t.Context()), url); err != nil || !cmp.Equal(got.Services, want) {
			t.Errorf("%s: %v, %v; want %v", url, got, err, want)
		}
	}
}
