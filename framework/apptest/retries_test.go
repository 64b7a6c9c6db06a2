package apptest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-ha/holdfast/framework/appfile"
	"github.com/holdfast-ha/holdfast/framework/apptest"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// web is behind whatever front door a test adds.
const behindADoor = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "web:1"}]}}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: other, namespace: shop}
spec:
  selector: {matchLabels: {app: other}}
  template: {metadata: {labels: {app: other}}, spec: {containers: [{name: other, image: "web:1"}]}}
---
apiVersion: v1
kind: Service
metadata: {name: other, namespace: shop}
spec: {selector: {app: other}, ports: [{port: 80}]}
`

const ingress = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: shop, annotations: {%s}}
spec: {rules: [{host: shop.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}
`

const middleware = `apiVersion: traefik.io/v1alpha1
kind: Middleware
metadata: {name: again, namespace: shop}
spec: {retry: {attempts: 4, initialInterval: 100ms}}
`

// removals are the retries that an ablation takes away, with the object that is changed as it is without them.
func removals(t *testing.T, test apptest.Test) (lines []string, changed map[string]string) {
	t.Helper()
	specs, tried, err := test.Ablate(1)
	if err != nil {
		t.Fatal(err)
	}
	changed = map[string]string{}
	for _, r := range tried.Removals {
		if !strings.HasPrefix(r.Name, "retries") {
			continue
		}
		lines = append(lines, r.Name+" of "+r.Workload+" at "+filepath.Base(r.Place)+" under "+r.Twin+": without "+r.Removed)
		i := slices.IndexFunc(specs, func(s scenario.Spec) bool { return s.Name == r.Without[0] })
		for n, m := range specs[i].App.Manifests {
			if is := text(t, m.Object); is != text(t, test.App.Manifests[n].Object) {
				changed[r.Name+" of "+r.Workload] += is
			}
		}
	}
	return lines, changed
}

func text(t *testing.T, o unstructured.Unstructured) string {
	t.Helper()
	raw, err := json.Marshal(o.Object)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// Retries are taken away where they are written, which is to turn them off: without a word, several front doors try again.
func TestRetriesAreTakenAwayWhereTheyAreWritten(t *testing.T) {
	door := func(annotations string) string { return strings.Replace(ingress, "%s", annotations, 1) }
	for name, test := range map[string]struct {
		manifests string
		where     string // the place and the words; empty: there is nothing to take away
		changed   string // a part of the object without them
		other     bool   // the workload that the Ingress does not lead to is concerned, too
	}{
		"ingress-nginx": {door(`nginx.ingress.kubernetes.io/proxy-next-upstream: "error timeout http_502"`),
			"all.yaml:27 under app/node-kill-web: without the retries of Ingress web (proxy-next-upstream off instead)", `"nginx.ingress.kubernetes.io/proxy-next-upstream":"off"`, false},
		"ingress-nginx, the number of tries alone": {door(`nginx.ingress.kubernetes.io/proxy-next-upstream-tries: "5"`),
			"all.yaml:27 under app/node-kill-web: without the retries of Ingress web (proxy-next-upstream off instead)", `"nginx.ingress.kubernetes.io/proxy-next-upstream":"off"`, false},
		"ingress-nginx, off already": {door(`nginx.ingress.kubernetes.io/proxy-next-upstream: "off", nginx.ingress.kubernetes.io/proxy-next-upstream-tries: "5"`), "", "", false},
		"nothing":                    {door(""), "", "", false},
		"ingress-nginx for all": {door("") + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: controller, namespace: shop}\ndata:\n  log: a\n  proxy-next-upstream: error\n",
			"all.yaml:35 under app/node-kill-web: without the retries in ConfigMap controller (proxy-next-upstream off instead)", `"proxy-next-upstream":"off"`, false},
		"Traefik and an Ingress": {door("traefik.ingress.kubernetes.io/router.middlewares: 'shop-auth@kubernetescrd, shop-again@kubernetescrd'") + "---\n" + middleware,
			"all.yaml:33 under app/node-kill-web: without the retries of Middleware again (one attempt instead)", `"retry":{"attempts":1,"initialInterval":"100ms"}`, false},
		"Traefik that tries once": {door("traefik.ingress.kubernetes.io/router.middlewares: shop-again@kubernetescrd") + "---\n" + strings.Replace(middleware, "attempts: 4", "attempts: 1", 1), "", "", false},
		"Traefik, used by nobody": {door("traefik.ingress.kubernetes.io/router.middlewares: shop-againandagain@kubernetescrd") + "---\n" + middleware, "", "", false},
		"another Middleware":      {door("traefik.ingress.kubernetes.io/router.middlewares: shop-again@kubernetescrd") + "---\n" + strings.Replace(middleware, "retry: {attempts: 4, initialInterval: 100ms}", "stripPrefix: {prefixes: [/a]}", 1), "", "", false},
		"Traefik and an IngressRoute": {middleware + "---\napiVersion: traefik.io/v1alpha1\nkind: IngressRoute\nmetadata: {name: web, namespace: shop}\n" +
			"spec: {routes: [{match: PathPrefix(`/`), kind: Rule, middlewares: [{name: again}], services: [{name: web, port: 80}]}]}\n",
			"all.yaml:28 under app/node-kill-web: without the retries of Middleware again (one attempt instead)", `"attempts":1`, false},
		"an IngressRoute that uses one of another namespace": {middleware + "---\napiVersion: traefik.io/v1alpha1\nkind: IngressRoute\nmetadata: {name: web, namespace: shop}\n" +
			"spec: {routes: [{match: PathPrefix(`/`), kind: Rule, middlewares: [{name: again, namespace: edge}], services: [{name: web, port: 80}]}]}\n", "", "", false},
		"Traefik and a chain": {door("traefik.ingress.kubernetes.io/router.middlewares: shop-all@kubernetescrd") + "---\n" + middleware +
			"---\napiVersion: traefik.io/v1alpha1\nkind: Middleware\nmetadata: {name: all, namespace: shop}\nspec: {chain: {middlewares: [{name: all}, {name: again}]}}\n",
			"all.yaml:33 under app/node-kill-web: without the retries of Middleware again (one attempt instead)", `"attempts":1`, false},
		"Traefik and an HTTPRoute": {middleware + "---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: web, namespace: shop}\n" +
			"spec: {rules: [{filters: [{type: ExtensionRef, extensionRef: {group: traefik.io, kind: Middleware, name: again}}], backendRefs: [{name: web, port: 80}]}]}\n",
			"all.yaml:28 under app/node-kill-web: without the retries of Middleware again (one attempt instead)", `"attempts":1`, false},
		"Traefik and every router": {door("") + "---\n" + middleware + "---\napiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: traefik, namespace: shop}\n" +
			"spec: {selector: {matchLabels: {app: t}}, template: {metadata: {labels: {app: t}}, spec: {containers: [{name: t, image: t, args: [--entrypoints.web.http.middlewares=shop-again@kubernetescrd]}]}}}\n",
			"all.yaml:33 under app/node-kill-web: without the retries of Middleware again (one attempt instead)", `"attempts":1`, false},
		"an HTTPRoute": {"apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: web, namespace: shop}\nspec:\n  rules:\n    - backendRefs: [{name: other, port: 80}]\n" +
			"    - retry: {codes: [500, 503], attempts: 2}\n      backendRefs: [{name: web, port: 80}]\n",
			"all.yaml:31 under app/node-kill-web: without the retries of HTTPRoute web (no attempts instead)", `"retry":{"attempts":0}`, false},
		"an HTTPRoute without attempts": {"apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: web, namespace: shop}\nspec: {rules: [{retry: {attempts: 0}, backendRefs: [{name: web, port: 80}]}]}\n", "", "", false},
		"Istio": {"apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: web, namespace: shop}\nspec:\n  hosts: [web]\n  http:\n    - route: [{destination: {host: web.shop.svc.cluster.local}}]\n" +
			"      retries: {attempts: 3, perTryTimeout: 1s, retryOn: connect-failure}\n    - route: [{destination: {host: other}}]\n      retries: {attempts: 1}\n",
			"all.yaml:32 under app/node-kill-web: without the retries of VirtualService web (no attempts instead)", `"retries":{"attempts":0},"route":[{"destination":{"host":"web.shop`, true},
		"an unknown kind": {"apiVersion: example.com/v1\nkind: VirtualService\nmetadata: {name: web, namespace: shop}\nspec: {http: [{route: [{destination: {host: web}}], retries: {attempts: 3}}]}\n", "", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			a, file := readAs(t, "all.yaml", behindADoor+"---\n"+test.manifests)
			got, changed := removals(t, apptest.Test{App: a, Existing: true, Probes: []apptest.Probe{apptest.OfURL("http://web/", 0), apptest.OfURL("http://other/", 1)}})
			var want []string
			if test.where != "" {
				want = append(want, "retries of web at "+test.where)
			}
			if test.other {
				want = append(want, strings.ReplaceAll("retries of web at "+test.where, "of web at "+test.where[:strings.Index(test.where, ":")], "of other at all.yaml"))
				want[1] = strings.Replace(want[1], "node-kill-web", "node-kill-other", 1)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
			if !strings.Contains(changed["retries of web"], test.changed) {
				t.Errorf("without them %q, want %q in it", changed, test.changed)
			}
		})
	}
}

// readAs is an application of a text in a file of a name.
func readAs(t *testing.T, name, text string) (app.App, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	manifests, err := app.Read(app.Sources{Files: []string{file}})
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(manifests, "shop")
	if err != nil {
		t.Fatal(err)
	}
	return a, file
}

const haproxyConfig = `
    # retries 7
    global
      log stdout format raw local0

    defaults
      mode http
      retries 2 # of the connection
      retry-on all-retryable-errors
      option redispatch 1
      timeout connect 2s

    resolvers cluster
      resolve_retries 3

    frontend web
      bind :8080

    backend web
    	option  redispatch
      server-template web 3 web:80

    listen more
      retries 0
      no option redispatch
`

// The configuration of a proxy changes in its lines about retries, and in no others.
func TestRetriesInTheConfigurationOfAProxy(t *testing.T) {
	for name, test := range map[string]struct {
		key, config string
		line        int // of the configuration, counted from 1
		words, want string
	}{
		"HAProxy": {"haproxy.cfg", haproxyConfig, 8, "the retries of HAProxy in haproxy.cfg of ConfigMap edge (retries 0 instead)",
			strings.NewReplacer("      retries 2 # of the connection\n      retry-on all-retryable-errors\n      option redispatch 1\n", "      retries 0\n", "    \toption  redispatch\n", "    \tretries 0\n").Replace(haproxyConfig)},
		"HAProxy without retries": {"haproxy.cfg", "    defaults\n      retries 0\n      retry-on none\n      no option redispatch\n", 0, "", ""},
		"nginx": {"default.conf", "    server {\n      # proxy_next_upstream error;\n      location / {\n        proxy_pass http://web;\n        proxy_next_upstream error timeout\n          http_502;\n" +
			"        proxy_next_upstream_tries 3;\n      }\n      location /rpc { grpc_pass grpc://web; grpc_next_upstream error; }\n    }\n", 5,
			"the retries of nginx in default.conf of ConfigMap edge (off instead)",
			"    server {\n      # proxy_next_upstream error;\n      location / {\n        proxy_pass http://web;\n        proxy_next_upstream off;\n" +
				"        proxy_next_upstream_tries 3;\n      }\n      location /rpc { grpc_pass grpc://web; grpc_next_upstream off; }\n    }\n"},
		"nginx without retries": {"default.conf", "    proxy_next_upstream off;\n    proxy_next_upstream_tries 3;\n", 0, "", ""},
		"another file":          {"notes.txt", "    We set retries 2 in the backend, and option redispatch.\n    retries 3\n    option redispatch\n", 0, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			proxy := behindADoor + `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: edge, namespace: shop}
spec:
  selector: {matchLabels: {app: edge}}
  template:
    metadata: {labels: {app: edge}}
    spec:
      containers: [{name: edge, image: "edge:1"}]
      volumes: [{name: config, configMap: {name: edge}}]
---
apiVersion: v1
kind: Service
metadata: {name: edge, namespace: shop}
spec: {selector: {app: edge}, ports: [{port: 80}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: edge, namespace: shop}
data:
  other: |
    more
  ` + test.key + ": |\n"
			before := strings.Count(proxy, "\n")
			a, _ := readAs(t, "all.yaml", proxy+strings.TrimPrefix(test.config, "\n"))
			if strings.HasPrefix(test.config, "\n") {
				before--
			}
			for what, of := range map[string]struct {
				behind []string
				of     string // the workload whose node dies
			}{"a proxy that is known to send on": {[]string{"web"}, "web"}, "a proxy of which nothing is known": {nil, "edge"}} {
				probe := apptest.OfURL("http://edge/", 0)
				probe.Behind = of.behind
				got, changed := removals(t, apptest.Test{App: a, Probes: []apptest.Probe{probe}})
				if test.line == 0 {
					if len(got) > 0 {
						t.Errorf("%s: got %q", what, got)
					}
					continue
				}
				twin := "app/node-kill"
				if len(of.behind) > 0 { // several workloads are tested
					twin += "-" + of.of
				}
				want := "retries of " + of.of + " at all.yaml:" + strconv.Itoa(before+test.line) + " under " + twin + ": without " + test.words
				if diff := cmp.Diff([]string{want}, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", what, diff)
				}
				var object struct{ Data map[string]string }
				if err := json.Unmarshal([]byte(changed["retries of "+of.of]), &object); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(dedented(test.want), object.Data[test.key]); diff != "" || object.Data["other"] != "more\n" {
					t.Errorf("%s (-want +got):\n%s", what, diff)
				}
			}
		})
	}
}

// dedented is a text as YAML reads it from a block.
func dedented(text string) string {
	var lines []string
	for line := range strings.Lines(strings.TrimPrefix(text, "\n")) {
		lines = append(lines, strings.TrimPrefix(line, "    "))
	}
	return strings.Join(lines, "")
}

// What is found in the applications of suites/apps, with the lines of their manifests.
func TestRetriesOfRealApplications(t *testing.T) {
	for folder, want := range map[string][]string{
		"haproxy-grpc": {"retries of server at haproxy.yaml:18 under app/node-kill-server: without the retries of HAProxy in haproxy.cfg of ConfigMap haproxy (retries 0 instead)"},
		"ingress":      nil, // its front doors have no retries
	} {
		manifests, err := app.Read(app.Sources{Files: []string{filepath.Join("../../suites/apps", folder, "k8s")}})
		if err != nil {
			t.Fatal(err)
		}
		file, err := appfile.Read(filepath.Join("../../suites/apps", folder, "holdfast.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		test := apptest.Test{Existing: true} // what the Gateway API defines is copied from its module
		if test.App, err = app.New(manifests, file.App.Namespace); err != nil {
			t.Fatal(err)
		}
		if test.Probes, err = file.ProbesOf(); err != nil {
			t.Fatal(err)
		}
		got, changed := removals(t, test)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", folder, diff)
		}
		for _, without := range changed {
			if strings.Contains(without, "redispatch") || !strings.Contains(without, `timeout server 60s\n  retries 0\n\nresolvers cluster`) || !strings.Contains(without, "resolve_retries 3") {
				t.Errorf("%s: without retries %s", folder, without)
			}
		}
	}
}
