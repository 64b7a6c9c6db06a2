package environment

import (
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/framework/base/errtest"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

const balancedApp = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: edge}
spec:
  selector: {matchLabels: {app: edge}}
  template:
    metadata: {labels: {app: edge}}
    spec: {containers: [{name: edge, image: "edge:1"}]}
---
apiVersion: v1
kind: Service
metadata: {name: zebra}
spec: {type: LoadBalancer, selector: {app: edge}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: apple}
spec: {type: LoadBalancer, selector: {app: edge}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: edge}, ports: [{port: 80}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: shop}
spec:
  rules:
    - host: shop.example.com
      http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: apple, port: {number: 80}}}}]}
`

// putServices creates the Services of an application as its manifests have them.
func putServices(env *Environment, fake *clustertest.Cluster, edit func(*corev1.Service)) {
	for _, s := range env.Spec.App.Services {
		made := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: s.Name, Namespace: env.namespace}}
		edit(made)
		fake.Put("/api/v1/namespaces/"+env.namespace+"/services", made)
	}
}

// addresses are those of the Services of type LoadBalancer.
func addresses(t *testing.T, env *Environment) map[string]string {
	t.Helper()
	got := map[string]string{}
	for _, s := range env.Spec.App.Services {
		address, err := env.balancer(t.Context(), env.namespace, s.Name)
		if err != nil {
			t.Fatal(err)
		}
		if address != "" {
			got[s.Name] = address
		}
	}
	return got
}

func TestLoadBalancersGetAddresses(t *testing.T) {
	env, fake := appEnvironment(t, balancedApp)
	putServices(env, fake, func(*corev1.Service) {})
	for range 2 { // a second time nothing changes
		errtest.Check(t, env.balance(t.Context(), env.Spec.App.Stages()[1]), "")
		if diff := cmp.Diff(map[string]string{"apple": "198.51.100.1", "zebra": "198.51.100.2"}, addresses(t, env)); diff != "" {
			t.Errorf("addresses (-want +got):\n%s", diff)
		}
	}
	given, fake := appEnvironment(t, balancedApp)
	putServices(given, fake, func(s *corev1.Service) {
		if s.Name == "apple" {
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.9"}}
		}
	})
	errtest.Check(t, given.balance(t.Context(), given.Spec.App.Stages()[1]), "")
	if diff := cmp.Diff(map[string]string{"apple": "192.0.2.9", "zebra": "198.51.100.2"}, addresses(t, given)); diff != "" {
		t.Errorf("where somebody else has given one (-want +got):\n%s", diff)
	}
}

func TestThereAreNoMoreAddressesThanThereAre(t *testing.T) {
	var services []app.Service
	for i := range 255 {
		services = append(services, app.Service{Name: "s" + strings.Repeat("x", i), LoadBalancer: true})
	}
	for n, want := range map[int]string{1: "198.51.100.1", 254: "198.51.100.254"} {
		if got, err := balancerAddress(&app.App{Services: services}, services[n-1]); err != nil || got.String() != want {
			t.Errorf("address %d: %v, %v", n, got, err)
		}
	}
	if got, err := balancerAddress(&app.App{Services: services}, services[254]); err == nil {
		t.Errorf("address 255: %s", got)
	}
}

// The controller of an Ingress takes requests where it says so, or else at the only Service that can be its own.
func TestTheAddressOfAnIngress(t *testing.T) {
	front := app.Front{Kind: "Ingress", Name: "shop", Backends: []string{"web"}, Entries: []string{"zebra"}}
	for name, test := range map[string]struct {
		published string
		mode      clusters.ProxyMode
		local     bool
		want, err string
	}{
		"published":                     {"192.0.2.7", clusters.NFTables, false, "192.0.2.7:80", ""},
		"not published":                 {"", clusters.NFTables, false, "198.51.100.2:80", ""},
		"local traffic":                 {"", clusters.IPTables, true, "198.51.100.2:80", ""},
		"local traffic in IPVS mode":    {"", clusters.IPVS, true, "", "lets a node reach its own pods only"},
		"traffic to all in IPVS mode":   {"", clusters.IPVS, false, "198.51.100.2:80", ""},
		"a published name is no use":    {"lb.example.com", clusters.NFTables, false, "198.51.100.2:80", ""},
		"somebody else's in IPVS mode":  {"192.0.2.7", clusters.IPVS, true, "192.0.2.7:80", ""},
		"published, which goes first":   {"198.51.100.1", clusters.NFTables, false, "198.51.100.1:80", ""},
		"published, local in IPVS mode": {"198.51.100.2", clusters.IPVS, true, "", "use another --proxy-mode"},
	} {
		t.Run(name, func(t *testing.T) {
			env, fake := appEnvironment(t, balancedApp)
			env.Cluster = proxied{env.Cluster, test.mode}
			putServices(env, fake, func(s *corev1.Service) {
				if test.local {
					s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
				}
			})
			errtest.Check(t, env.balance(t.Context(), env.Spec.App.Stages()[1]), "")
			fake.Put("/apis/networking.k8s.io/v1/namespaces/"+env.namespace+"/ingresses", published(env.namespace, test.published))
			got, err := env.frontAddress(t.Context(), front, mustParse(t, "http://shop.example.com/"))
			if got != test.want || test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("%q, %v, want %q and an error with %q", got, err, test.want, test.err)
			}
		})
	}
}

// proxied is a cluster whose kube-proxy has a mode.
type proxied struct {
	clusters.Cluster
	mode clusters.ProxyMode
}

func (p proxied) Spec() clusters.Spec {
	s := p.Cluster.Spec()
	s.ProxyMode = p.mode
	return s
}

// published is an Ingress whose controller has written an address, or a name, into its status.
func published(namespace, at string) *networkingv1.Ingress {
	in := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: namespace}}
	if net.ParseIP(at) != nil {
		in.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: at}}
	} else if at != "" {
		in.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{Hostname: at}}
	}
	return in
}

func mustParse(t *testing.T, raw string) *url.URL {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// A route's controller takes requests at the address of its Gateway: a name would test a DNS that holdfast does not know.
func TestTheAddressOfAGateway(t *testing.T) {
	env, _ := appEnvironment(t, balancedApp)
	gateway := func(name string, addresses ...any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway",
			"metadata": map[string]any{"name": name, "namespace": env.namespace}, "status": map[string]any{"addresses": addresses},
		}}
	}
	named, numbered := map[string]any{"type": "Hostname", "value": "lb.example.com"}, map[string]any{"type": "IPAddress", "value": "198.51.100.2"}
	client := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
	gateways := client.Resource(schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "gateways"}).Namespace(env.namespace)
	for _, o := range []*unstructured.Unstructured{gateway("none"), gateway("named", named), gateway("both", named, numbered)} {
		if _, err := gateways.Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for gateways, want := range map[string]string{"none": "", "named": "", "both": "198.51.100.2", "none both": "198.51.100.2"} {
		f := app.Front{Kind: "HTTPRoute", Name: "r", Gateways: strings.Fields(gateways), Entries: []string{"zebra"}}
		if got, err := env.published(t.Context(), client, f); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", gateways, got, err, want)
		}
	}
	if _, err := env.published(t.Context(), client, app.Front{Kind: "HTTPRoute", Gateways: []string{"absent"}}); err == nil {
		t.Error("there is no Gateway absent, and nothing says so")
	}
}
