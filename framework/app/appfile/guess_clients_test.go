package appfile_test

import (
	"strings"
	"testing"
)

func TestClients(t *testing.T) {
	web := deployment("web", "{name: c, image: i, ports: [{name: admin, containerPort: 9000}, {name: http, containerPort: 8080}]}") +
		serviceOf("web", "{name: admin, port: 9000}, {name: http, port: 80, targetPort: http}")
	ready := strings.Replace(web, "image: i", "image: i, readinessProbe: {httpGet: {path: /api/ready, port: http}}", 1)
	ingress := func(head, spec, path, port string) string {
		return "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: shop" + head + "}\nspec:\n  rules:\n  - host: shop.example.com\n    http: {paths: [{path: '" + path +
			"', pathType: Prefix, backend: {service: {name: web, port: {" + port + "}}}}]}\n" + spec + "---\n"
	}
	route := func(spec string) string {
		return "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: shop}\nspec: {hostnames: [shop.example.com], parentRefs: [{name: g}], rules: [{" + spec + "backendRefs: [{name: web, port: 80}]}]}\n---\n"
	}
	definition := func(kind string) string {
		return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: " + strings.ToLower(kind) + "}\nspec: {group: gateway.networking.k8s.io, names: {kind: " + kind + "}}\n---\n"
	}
	controller := func(class string) string {
		group := map[string]string{"IngressClass": "networking.k8s.io/v1", "GatewayClass": "gateway.networking.k8s.io/v1"}[class]
		return "apiVersion: " + group + "\nkind: " + class + "\nmetadata: {name: c}\nspec: {controller: example.com/c, controllerName: example.com/c}\n---\n" + deployment("door", "{name: c, image: controller}") +
			"apiVersion: v1\nkind: Service\nmetadata: {name: door}\nspec: {type: LoadBalancer, selector: {app: door}, ports: [{name: http, port: 80, targetPort: 8000}]}\n---\n" +
			definition("GatewayClass") + definition("HTTPRoute")
	}
	checkGuesses(t, map[string]string{
		"a port by name":   web + ingress("", "", "/", "name: http"),
		"a port by number": web + ingress("", "", "/", "number: 80"),
		"a path":           web + ingress("", "", "/api", "number: 80"),
		"an expression":    web + ingress("", "", "/api(/|$)(.*)", "number: 80"),
		"a rewritten path": web + ingress(", annotations: {nginx.ingress.kubernetes.io/rewrite-target: /}", "", "/api", "number: 80"),
		"another Service":  web + strings.Replace(ingress("", "", "/api", "number: 80"), "name: web", "name: other", 1),
		"what the kubelet asks is known to answer": ready + ingress("", "", "/pages", "number: 80"),

		"with a controller":                     controller("IngressClass") + web + ingress("", "", "/api", "number: 80"),
		"with a controller and TLS":             controller("IngressClass") + ready + ingress("", "  tls: [{hosts: [shop.example.com]}]\n", "/", "number: 80"),
		"a path that does not come here":        controller("IngressClass") + ready + ingress("", "", "/pages", "number: 80"),
		"a gateway with a route":                strings.Replace(web, "image: i", "image: traefik", 1) + ingress("", "", "/api", "number: 80"),
		"the controller of another kind":        controller("GatewayClass") + web + ingress("", "", "/api", "number: 80"),
		"any host":                              controller("IngressClass") + web + strings.Replace(ingress("", "", "/api", "number: 80"), "- host: shop.example.com\n    http", "- http", 1),
		"an HTTPRoute":                          web + route(""),
		"an HTTPRoute with a controller":        controller("GatewayClass") + web + route("matches: [{path: {type: PathPrefix, value: /api}}], "),
		"an HTTPRoute by an expression":         controller("GatewayClass") + web + route("matches: [{path: {type: RegularExpression, value: /api/v.}}], "),
		"an HTTPRoute to nothing":               web + strings.Replace(route(""), "port: 80}", "port: 80, weight: 0}", 1),
		"what no path matches":                  web + strings.Replace(ingress("", "", "/", "number: 80"), "  rules:", "  defaultBackend: {service: {name: web, port: {number: 9000}}}\n  rules:", 1),
		"an HTTPRoute that rewrites":            controller("GatewayClass") + web + route("filters: [{type: URLRewrite, urlRewrite: {hostname: other}}], "),
		"the host that a kubelet's probe names": controller("IngressClass") + strings.Replace(ready, "port: http}}", "port: http, httpHeaders: [{name: Host, value: shop.example.com}]}}", 1) + ingress("", "", "/", "number: 80"),
	})
}
