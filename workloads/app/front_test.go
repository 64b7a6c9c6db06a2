package app_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

const fronts = web + `
---
apiVersion: v1
kind: Service
metadata: {name: cart}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: edge}
spec: {type: LoadBalancer, externalTrafficPolicy: Local, selector: {app: edge}, ports: [{port: 80}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: shop}
spec:
  rules:
    - host: shop.example.com
      http:
        paths:
          - {path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}
          - {path: /cart, pathType: Prefix, backend: {service: {name: cart, port: {number: 80}}}}
          - {path: /cart/exact, pathType: Exact, backend: {service: {name: web, port: {number: 80}}}}
    - host: "*.example.com"
      http:
        paths: [{path: /, pathType: Prefix, backend: {service: {name: cart, port: {number: 80}}}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: route}
spec:
  parentRefs: [{name: gate}, {kind: Service, name: mesh}]
  hostnames: [route.example.com, "*.wild.org"]
  rules:
    - backendRefs: [{name: web, port: 80}, {name: never, port: 80, weight: 0}]
    - matches: [{path: {type: PathPrefix, value: /}, method: POST}]
      backendRefs: [{name: cart, port: 80}]
    - matches: [{path: {type: PathPrefix, value: /old}}]
      filters: [{type: RequestRedirect}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: httproutes.gateway.networking.k8s.io}
spec: {group: gateway.networking.k8s.io, scope: Namespaced, names: {kind: HTTPRoute}}
`

func appOf(t *testing.T, texts ...string) app.App {
	t.Helper()
	manifests, err := read(t, texts...)
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(manifests, "shop")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// The host decides before the path, an exact one before a wildcard, and the longest path before the others.
func TestWhichIngressOrRouteServesAURL(t *testing.T) {
	a := appOf(t, fronts)
	for raw, want := range map[string]string{
		"http://shop.example.com/":           "Ingress shop to web",
		"http://SHOP.example.com":            "Ingress shop to web",
		"http://shop.example.com/cart":       "Ingress shop to cart",
		"http://shop.example.com/cart/1":     "Ingress shop to cart",
		"http://shop.example.com/carts":      "Ingress shop to web",
		"http://shop.example.com/cart/exact": "Ingress shop to web",
		"http://other.example.com/":          "Ingress shop to cart",
		"http://a.b.example.com/":            "", // a wildcard of an Ingress is one label
		"https://route.example.com/x":        "HTTPRoute route to web, cart through gate",
		"http://a.b.wild.org/":               "HTTPRoute route to web, cart through gate",
		"http://wild.org/":                   "",
		"http://route.example.com/old/1":     "HTTPRoute route to  through gate", // a redirect
		"http://example.com/":                "",
		"http://web/":                        "", // a Service
		"tcp://shop.example.com:80":          "",
	} {
		f, is := a.FrontOf(raw)
		got := ""
		if is {
			got = f.String() + " to " + strings.Join(f.Backends, ", ")
		}
		if len(f.Gateways) > 0 {
			got += " through " + strings.Join(f.Gateways, ", ")
		}
		if want = strings.Replace(want, "web, cart", "cart, web", 1); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
		if is {
			if diff := cmp.Diff([]string{"edge"}, f.Entries); diff != "" {
				t.Errorf("%s: entries (-want +got):\n%s", raw, diff)
			}
		}
	}
	if edge, is := a.Service("edge"); !is || !edge.LoadBalancer || !edge.LocalTraffic {
		t.Errorf("Service edge: %+v", edge)
	}
	want := "web, cart, edge, shop.example.com (Ingress shop), *.example.com (Ingress shop), route.example.com (HTTPRoute route), *.wild.org (HTTPRoute route)"
	if got := a.Names(); got != want {
		t.Errorf("names %s, want %s", got, want)
	}
}

func TestClaims(t *testing.T) {
	a := appOf(t, strings.Replace(store, "containers:", "volumes: [{name: tmp, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: fast}}}}], containers:", 1)+`
  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce]}}]
`, `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: shared}
spec: {storageClassName: "", volumeName: nfs}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: disks.example.com
`, web)
	var got []string
	for _, c := range a.Claims() {
		class, byDefault := c.Class()
		got = append(got, c.Object.GetKind()+" "+class+map[bool]string{true: " by default"}[byDefault]+map[bool]string{true: " new"}[c.Provisioned()])
	}
	if diff := cmp.Diff([]string{"PersistentVolumeClaim ", "StatefulSet  by default new", "StatefulSet fast new"}, got); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
	if class, brought := a.StorageClass("fast"); !brought || class.Provisioner != "disks.example.com" {
		t.Errorf("StorageClass fast: %+v", class)
	}
	for _, w := range a.Workloads {
		if has := w.HasVolume(a); has != (w.Kind == workloads.StatefulSet) {
			t.Errorf("%s %s has a volume: %t", w.Kind, w.Name, has)
		}
	}
}
