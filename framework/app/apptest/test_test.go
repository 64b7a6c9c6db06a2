package apptest_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/load/request"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads/app"
	"github.com/holdfast-ha/holdfast/workloads/expect"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// shop has a Service that answers, one of the same pods without an address, one of no pods, and a workload without a Service.
const shop = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: nginx, image: "nginx:1.22"}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: worker}
spec:
  selector: {matchLabels: {app: worker}}
  template:
    metadata: {labels: {app: worker}}
    spec: {containers: [{name: worker, image: "nginx:1.22"}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: peers}
spec: {selector: {app: web}, clusterIP: None, ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: elsewhere}
spec: {selector: {app: nothing}, ports: [{port: 80}]}
`

const careful = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  strategy: {rollingUpdate: {maxUnavailable: 0}}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: nginx
          image: "nginx:1.22"
          readinessProbe: {httpGet: {path: /, port: 80}}
          lifecycle:
            preStop: {sleep: {seconds: 5}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}
`

// withACache has a workload that another may need.
const withACache = careful + `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: cache}
spec:
  selector: {matchLabels: {app: cache}}
  template:
    metadata: {labels: {app: cache}}
    spec: {containers: [{name: cache, image: "cache:1"}]}
---
apiVersion: v1
kind: Service
metadata: {name: cache}
spec: {selector: {app: cache}, ports: [{port: 80}]}
`

const behindAnIngress = careful + `---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: edge}
spec:
  serviceName: edge
  selector: {matchLabels: {app: edge}}
  template:
    metadata: {labels: {app: edge}}
    spec: {containers: [{name: edge, image: "edge:1"}]}
  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce]}}]
---
apiVersion: v1
kind: Service
metadata: {name: edge}
spec: {type: LoadBalancer, selector: {app: edge}, ports: [{port: 80}]}
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
          - {path: /lost, pathType: Prefix, backend: {service: {name: nobody, port: {number: 80}}}}
`

// doc is an object as a further document.
func doc(apiVersion, kind, name, rest string) string {
	return "---\napiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: " + name + "}\n" + rest + "\n"
}

func service(name, spec string) string { return doc("v1", "Service", name, "spec: {"+spec+"}") }

// outside has Services that clients outside of the cluster can ask.
var outside = shop + service("ports", "type: NodePort, externalTrafficPolicy: Local, selector: {app: web}, ports: [{port: 80, nodePort: 30080}]") +
	service("cloud", "type: LoadBalancer, externalTrafficPolicy: Local, selector: {app: web}, ports: [{port: 80, nodePort: 30081}]") +
	doc("networking.k8s.io/v1", "Ingress", "shop", "spec: {rules: [{host: shop.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}")

// byName has Services that are asked by their names alone, and some that lead to no tested workload.
var byName = strings.Replace(shop, `image: "nginx:1.22"`, `image: "nginx:1.22", ports: [{name: metrics, containerPort: 9090}]`, 1) +
	service("own", "selector: {app: web}, clusterIP: None, ports: [{name: http, port: 80, targetPort: 8080}, {name: metrics, port: 81, targetPort: metrics}]") +
	service("alias", "type: ExternalName, externalName: other.shop.svc.cluster.local") + service("other", "type: ExternalName, externalName: web.shop.svc.cluster.local.") +
	service("mail", "type: ExternalName, externalName: smtp.example.com") + service("short", "type: ExternalName, externalName: web") +
	service("round", "type: ExternalName, externalName: round.shop.svc.cluster.local") + service("bare", "ports: [{port: 80}]") +
	service("old", "selector: {app: old}, ports: [{port: 80}]") + service("canary", "selector: {app: web, track: canary}, ports: [{port: 80}]") +
	doc("apiextensions.k8s.io/v1", "CustomResourceDefinition", "rollouts.argoproj.io", "spec: {group: argoproj.io, scope: Namespaced, names: {kind: Rollout, plural: rollouts}, versions: [{name: v1alpha1, served: true, storage: true}]}") +
	doc("argoproj.io/v1alpha1", "Rollout", "old", "spec: {template: {metadata: {labels: {app: old}}}}") +
	"---\napiVersion: v1\nkind: Pod\nmetadata: {name: old-1, labels: {app: old}}\nspec: {containers: [{name: old, image: old}]}\n"

// stateful is the shop's web as a StatefulSet with an update strategy, and onEveryNode as a DaemonSet with or without one.
func stateful(strategy string) string {
	return strings.Replace(strings.Replace(shop, "kind: Deployment\nmetadata: {name: web}\nspec:\n", "kind: StatefulSet\nmetadata: {name: web}\nspec:\n  serviceName: web\n", 1),
		"  replicas: 3\n", "  replicas: 3\n  updateStrategy: "+strategy+"\n", 1)
}

func onEveryNode(strategy string) string {
	return strings.Replace(strings.Replace(shop, "kind: Deployment\nmetadata: {name: web}\n", "kind: DaemonSet\nmetadata: {name: web}\n", 1), "  replicas: 3\n", strategy, 1)
}

// each is a workload and its Service, for each name. A Service has no dots in its name.
func each(names ...string) (text string, probes []apptest.Probe) {
	var all []string
	for n, name := range names {
		one := strings.NewReplacer("name: web}\nspec: {selector", "name: SERVICE}\nspec: {selector", "name: web", "name: "+name, "app: web", "app: "+name).Replace(strings.Split(careful, "---\napiVersion: policy")[0])
		called := "s-" + strings.Trim(strings.ReplaceAll(name, ".", "-0"), "-")
		all, probes = append(all, strings.ReplaceAll(one, "SERVICE", called)), append(probes, apptest.OfURL("http://"+called+"/", n))
	}
	return strings.Join(all, "---\n"), probes
}

// read is an application of a text.
func read(t *testing.T, text string) app.App {
	t.Helper()
	manifests, err := app.Decode(strings.NewReader(text), "web.yaml")
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(manifests, "shop")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// urls are probes of URLs.
func urls(all ...string) (probes []apptest.Probe) {
	for n, one := range all {
		probes = append(probes, apptest.OfURL(one, n))
	}
	return probes
}

// edited is the probe of a URL with settings.
func edited(url string, edit func(*apptest.Probe)) []apptest.Probe {
	p := apptest.OfURL(url, 0)
	edit(&p)
	return []apptest.Probe{p}
}

// row is a test of an application.
type row struct {
	text     string
	probes   []apptest.Probe
	faults   string // with commas between them; empty: the default
	promises apptest.Promises
}

func (r row) test(t *testing.T) apptest.Test {
	t.Helper()
	test := apptest.Test{App: read(t, r.text), Probes: r.probes, Promises: r.promises}
	if r.faults != "" {
		test.Faults = strings.Split(r.faults, ",")
	}
	return test
}

// shown are the scenarios of a test, or why there is none. The lanes and the notes are those of the first; a later scenario shows the notes that the first has not.
func shown(specs []scenario.Spec, untested []apptest.Untested, err error) string {
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	for i, s := range specs {
		line("%s of %s, aside %t: %s", s.Name, s.Tested, s.Aside, s.Claim)
		line("  faults %v, steady %s, hold %s, recovered %s, about %s", s.Faults, s.Steady, s.Hold, s.Recovered, s.About)
		for _, p := range s.Promises {
			stored, err := invariant.Encode(p) // as a record has them: an old record is judged by what was promised then
			line("  promise %s %s%s", stored.Kind, stored.Params, strings.Replace(fmt.Sprint(" ", err), " <nil>", "", 1))
		}
		for _, l := range s.Load {
			front, is := s.Fronts[l.Lane]
			if i > 0 || l.Lane == history.LaneControl {
				continue
			}
			words := fmt.Sprintf("  lane %s: %s at %.3g/s", l.Lane, l.Target, l.Rate)
			for _, part := range []struct {
				is    bool
				words string
			}{
				{l.Outside, "outside"}, {l.Idle > 0, "idle " + l.Idle.String()}, {l.Request.Host != "", "host " + l.Request.Host},
				{l.Timeouts.Response > 0, fmt.Sprint("limits ", l.Timeouts.Response, l.Timeouts.Request)}, {s.Names(l.Lane, s.Tested), "names pods of " + s.Tested},
			} {
				if part.is {
					words += ", " + part.words
				}
			}
			if is {
				words += strings.TrimSuffix(fmt.Sprintf(", through %s (%v to %v) %s", front.Name, front.Entries, front.Backends, front.Sticky), " ")
			}
			line("%s", words)
		}
		for _, note := range s.Notes {
			if i == 0 || !slices.Contains(specs[0].Notes, note) {
				line("  note %s", note)
			}
		}
	}
	for _, w := range untested {
		line("untested %s %s: %s", w.Kind, w.Name, w.Why)
	}
	return b.String()
}

// golden compares texts with a file.
func golden(t *testing.T, name string, got map[string]string) {
	t.Helper()
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(got)) {
		b.WriteString("# " + key + "\n" + got[key] + "\n")
	}
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if diff := cmp.Diff(string(want), b.String()); err != nil || diff != "" {
		t.Errorf("%v, %s (-want +got), go test -update rewrites it:\n%s", err, file, diff)
	}
}

// What a test is to do, and what is promised of it, follows from its manifests, its probes and its faults, or it is refused with what to write.
func TestScenarios(t *testing.T) {
	web := urls("http://web/")
	two := []apptest.Probe{apptest.OfURL("http://web/", 0), {Name: "cart", URL: "http://web/cart", Rate: 10}}
	rare := []apptest.Probe{two[0], {Name: "cart", URL: "http://web/cart", Rate: 1}}
	cached := []apptest.Probe{two[0], {Name: "cache", URL: "http://cache/", Rate: 10}}
	few := func(n int) apptest.Promise { return apptest.Promise{Failed: apptest.Allowance{AtMost: n}} }
	of := func(probe string, p apptest.Promise) apptest.Promises {
		return apptest.Promises{Of: map[string]apptest.Promise{probe: p}}
	}
	each0 := func(p apptest.Promise) apptest.Promises { return apptest.Promises{Each: p} }
	idle := func(d time.Duration, rate float64, lanes ...history.Lane) []apptest.Probe {
		return edited("http://web/", func(p *apptest.Probe) { p.Idle, p.Rate, p.Lanes = d, rate, lanes })
	}
	from := func(url string, behind ...string) []apptest.Probe {
		return edited(url, func(p *apptest.Probe) { p.Outside, p.Behind = true, behind })
	}
	proxy := func(url string, behind ...string) []apptest.Probe {
		return edited(url, func(p *apptest.Probe) { p.Behind = behind })
	}
	like := func(rate float64) []apptest.Probe {
		return edited("http://web/", func(p *apptest.Probe) { p.Like, p.Rate = true, rate })
	}
	lane := func(p apptest.Probe, lanes ...history.Lane) []apptest.Probe {
		p.Lanes = lanes
		return []apptest.Probe{p}
	}
	secret := func(name, key string) []apptest.Probe {
		return edited("http://web/", func(p *apptest.Probe) {
			p.Request = request.Request{FromSecret: map[string]request.SecretKey{"Authorization": {Name: name, Key: key}}}
		})
	}
	within := func(d time.Duration) []apptest.Probe {
		return edited("http://web/", func(p *apptest.Probe) { p.Expect = expect.Answer{Within: d} })
	}
	trusting := func(unverified bool) []apptest.Probe {
		p := apptest.OfHealth("https://web:80", "", 0)
		p.Request.TLS = &request.TLS{Unverified: unverified}
		return []apptest.Probe{p}
	}
	replaced := func(text, old, by string) string { return strings.Replace(text, old, by, 1) }
	sticky := replaced(behindAnIngress, "type: LoadBalancer", "type: LoadBalancer, sessionAffinity: ClientIP, internalTrafficPolicy: Local")
	annotated := func(annotation string) string {
		return replaced(behindAnIngress, "metadata: {name: shop}", "metadata: {name: shop, annotations: {"+annotation+"}}")
	}
	configured := func(text, spec string) string {
		return replaced(text, "    spec: {containers: [{name: nginx, image: \"nginx:1.22\"}]}\n", "    spec:\n"+spec) +
			"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: fixed}\nimmutable: true\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: fast}\nimmutable: true\n" +
			doc("v1", "ConfigMap", "conf", "") + doc("v1", "Secret", "of-an-operator", "")
	}
	const (
		reads  = "      containers: [{name: nginx, image: \"nginx:1.22\", envFrom: [{configMapRef: {name: fixed}}, {configMapRef: {name: perhaps, optional: true}}, {secretRef: {name: of-an-operator}}]}]\n"
		mounts = "      volumes: [{name: v, configMap: {name: conf}}]\n      containers: [{name: nginx, image: \"nginx:1.22\", volumeMounts: [{name: v, mountPath: /v}]}]\n"
		only   = "      containers: [{name: nginx, image: \"nginx:1.22\", envFrom: [{configMapRef: {name: fixed}}, {secretRef: {name: fast}}]}]\n"
		token  = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: token}\ndata: {old: eA==}\nstringData: {header: Bearer x}\n"
		mail   = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: smoke, annotations: {helm.sh/hook: test}}\nspec: {containers: [{name: c, image: i}]}\n" +
			"---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: robot, namespace: other}\nspec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}\n"
		alone = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: worker}\nspec: {selector: {matchLabels: {app: w}}, template: {metadata: {labels: {app: w}}, spec: {containers: [{name: c, image: i}]}}}\n"
	)
	ported := replaced(careful, "ports: [{port: 80}]", "ports: [{port: 80, targetPort: http}]")
	initially := func(field, port string) string {
		return replaced(ported, "      containers:\n", "      initContainers: [{name: i, image: i, "+field+"ports: [{name: "+port+", containerPort: 8080}]}]\n      containers:\n")
	}
	blue := replaced(shop, "metadata: {name: worker}\nspec:\n  selector: {matchLabels: {app: worker}}\n  template:\n    metadata: {labels: {app: worker}}",
		"metadata: {name: green}\nspec:\n  replicas: 0\n  selector: {matchLabels: {app: web, color: green}}\n  template:\n    metadata: {labels: {app: web, color: green}}")
	files := map[string]map[string]row{
		"promises.txt": {
			"the defaults": {shop, two, "", apptest.Promises{}}, "the defaults of an eviction": {shop, two, "disk-pressure", apptest.Promises{}},
			"a few of each probe":              {shop, two, "rollout", each0(few(3))}, // a number is of each probe, so that what one does not need is no help for the other
			"a share of one probe":             {shop, two, "scale", of("cart", apptest.Promise{Failed: apptest.Allowance{Share: 0.001}})},
			"how slow answers may become":      {shop, two, "delete-pod", each0(apptest.Promise{SlowerBy: 500 * time.Millisecond})},
			"sooner than predicted":            {shop, two, "freeze", apptest.Promises{Each: apptest.Promise{EndsWithin: 20 * time.Second}, Of: map[string]apptest.Promise{"cart": {EndsWithin: 5 * time.Second}}}},
			"of another class":                 {shop, two, "rollout", apptest.Promises{Each: apptest.Promise{EndsWithin: time.Minute}, Of: map[string]apptest.Promise{"cart": {}}}},
			"a lost node, and a few":           {shop, two, "node-kill", each0(few(3))},
			"a lost node, for a minute":        {shop, two, "node-kill", of("cart", apptest.Promise{EndsWithin: time.Minute})}, // a fault is not reverted before failures had to be over
			"a lost node, for a second":        {shop, two, "node-kill", each0(apptest.Promise{EndsWithin: time.Second})},
			"what no pod meets":                {shop, two, "kubelet", each0(apptest.Promise{Failed: apptest.Allowance{AtMost: 3}, EndsWithin: time.Minute})},
			"answers are rare":                 {shop, rare, "rollout", apptest.Promises{}}, // too few come to tell what is usual
			"answers are rare, and slower-by":  {shop, rare, "rollout", each0(apptest.Promise{SlowerBy: time.Second})},
			"the cache may be away":            {withACache, cached, "delete-pod", of("cache", apptest.Promise{Failed: apptest.Allowance{Share: 0.99}})},
			"a missing image of the cache":     {withACache, cached, "bad-image:cache", apptest.Promises{}},
			"a lost node of the cache":         {withACache, cached, "node-kill", apptest.Promises{}}, // the victims' share of the requests is that of one Service
			"aimed at the cache, twice":        {withACache, web, "delete-pod:cache,delete-pod:cache", apptest.Promises{}},
			"aimed at nothing":                 {withACache, web, "delete-pod:cash", apptest.Promises{}},
			"like before":                      {shop, like(0), "rollout", apptest.Promises{}},
			"like before, rarely":              {shop, like(2), "delete-pod", apptest.Promises{}},
			"like before, the API server away": {shop, like(0), "apiserver", apptest.Promises{}},
			"like before, after a loss":        {shop, like(0), "node-kill", apptest.Promises{}},
			"like before, beside another":      {shop, slices.Concat(like(0), urls("", "http://web/other")[1:]), "delete-pod", apptest.Promises{}},
			"like before, and some may fail":   {shop, like(0), "", each0(few(3))},
		},
		"skipped.txt": {
			"OnDelete": {stateful("{type: OnDelete}"), web, "drain,rollout", apptest.Promises{}}, "OnDelete, a bad image alone": {stateful("{type: OnDelete}"), web, "bad-image", apptest.Promises{}},
			"a partition": {stateful("{rollingUpdate: {partition: 2}}"), web, "drain,rollout", apptest.Promises{}}, "no partition": {stateful("{rollingUpdate: {partition: 0}}"), web, "rollout", apptest.Promises{}},
			"a DaemonSet": {onEveryNode(""), web, "", apptest.Promises{}}, "a DaemonSet, OnDelete": {onEveryNode("  updateStrategy: {type: OnDelete}\n"), web, "rollout,delete-pod", apptest.Promises{}},
			"a DaemonSet, other faults": {onEveryNode(""), web, "memory-pressure,coredns,kill-container,freeze", apptest.Promises{}}, "a DaemonSet, a drain alone": {onEveryNode(""), web, "drain", apptest.Promises{}},
			"no replicas": {replaced(shop, "replicas: 3", "replicas: 0"), web, "", apptest.Promises{}}, "paused": {replaced(shop, "replicas: 3", "replicas: 3\n  paused: true"), web, "", apptest.Promises{}},
			"blue and green":               {blue, web, "delete-pod", apptest.Promises{}},
			"config: nothing":              {shop, web, "config-change", apptest.Promises{}},
			"config: immutable":            {configured(shop, only), web, "config-change", apptest.Promises{}},
			"config: of an operator":       {configured(shop, reads), web, "config-change", apptest.Promises{}},
			"config: a folder":             {configured(shop, mounts), web, "config-change", apptest.Promises{}},
			"config: a checksum":           {replaced(configured(shop, mounts), "    metadata: {labels: {app: web}}", "    metadata: {labels: {app: web}, annotations: {checksum/config: a}}"), web, "config-change", apptest.Promises{}},
			"config: OnDelete":             {configured(stateful("{type: OnDelete}"), reads), web, "config-change", apptest.Promises{}},
			"config: OnDelete, and folder": {configured(stateful("{type: OnDelete}"), mounts), web, "config-change", apptest.Promises{}},
		},
		"probes.txt": {
			"two of one Service": {shop, urls("http://web/", "http://web/cart"), "rollout", apptest.Promises{}},
			"a connection":       {shop, urls("tcp://web:80"), "rollout", apptest.Promises{}},
			"a question":         {shop, []apptest.Probe{{Name: "redis", URL: "tcp://web:80", Request: request.Request{Body: "PING\r\n"}, Expect: expect.Answer{Contains: "+PONG"}}}, "rollout", apptest.Promises{}},
			"gRPC":               {shop, []apptest.Probe{apptest.OfHealth("http://web:80", "orders", 0)}, "rollout", apptest.Promises{}},
			"a gRPC call":        {shop, []apptest.Probe{apptest.OfCall("http://web:80", request.Call{Method: "orders.v1.Orders/Get"}, "{}", nil, 0)}, "rollout", apptest.Promises{}},
			"no gRPC method":     {shop, []apptest.Probe{apptest.OfCall("http://web:80", request.Call{Method: "Get"}, "", nil, 0)}, "", apptest.Promises{}},
			"gRPC over TLS":      {shop, trusting(false), "rollout", apptest.Promises{}}, "gRPC over TLS, unverified": {shop, trusting(true), "rollout", apptest.Promises{}},
			"HTTP over TLS": {shop, urls("https://web:80"), "rollout", apptest.Promises{}}, "a WebSocket": {shop, urls("ws://web/socket"), "rollout", apptest.Promises{}},
			"messages":        {shop, []apptest.Probe{{Name: "chat", URL: "wss://web:80/socket", Request: request.Request{Body: "ping"}, Expect: expect.Answer{Contains: "pong"}}}, "rollout", apptest.Promises{}},
			"a lane twice":    {shop, lane(web[0], "fresh", "reused", "fresh"), "", apptest.Promises{}},
			"no lane of ws":   {shop, lane(urls("ws://web/")[0], "reused"), "", apptest.Promises{}},
			"no lane of http": {shop, lane(web[0], "h2"), "", apptest.Promises{}}, "no lane of https": {shop, lane(urls("https://web:80/")[0], "h2c"), "", apptest.Promises{}},
			"no lane of gRPC":  {shop, lane(apptest.OfHealth("http://web:80", "", 0), "fresh"), "", apptest.Promises{}},
			"an unknown fault": {shop, web, "earthquake", apptest.Promises{}}, "a mistyped fault": {shop, web, "drian:web", apptest.Promises{}}, "no URL": {shop, nil, "", apptest.Promises{}},
			"a path": {shop, urls("web.shop:80/ready"), "", apptest.Promises{}}, "no scheme": {shop, urls("web:80"), "", apptest.Promises{}}, "no http": {shop, urls("postgres://web/"), "", apptest.Promises{}},
			"a database": {shop, urls("redis://web:6379/0"), "", apptest.Promises{}}, "a URL of gRPC": {shop, urls("grpc://web:80"), "", apptest.Promises{}}, "gRPC and a path": {shop, urls("grpcs://web:80/Health"), "", apptest.Promises{}},
			"no port": {shop, urls("tcp://web"), "", apptest.Promises{}}, "a password": {shop, urls("http://jane:hunter2@web/"), "", apptest.Promises{}},
			"idle": {shop, idle(2*time.Second, 0), "delete-pod", apptest.Promises{}}, "idle, at a lower rate": {shop, idle(10*time.Second, 0), "delete-pod", apptest.Promises{}},
			"idle, at its own rate": {shop, idle(10*time.Second, 5), "delete-pod", apptest.Promises{}}, "idle, beside HTTP/2": {shop, idle(2*time.Second, 0, load.LaneH2C, history.LaneReused), "delete-pod", apptest.Promises{}},
			"idle, the longest": {shop, idle(time.Minute, 0), "delete-pod", apptest.Promises{}}, "idle, too long": {shop, idle(61*time.Second, 0), "", apptest.Promises{}},
			"idle, new connections": {shop, idle(time.Second, 0, history.LaneFresh), "", apptest.Promises{}}, "idle, HTTP/2": {shop, idle(time.Second, 0, load.LaneH2C), "", apptest.Promises{}},
			"late answers, 2s": {shop, within(2 * time.Second), "rollout", apptest.Promises{}}, "late answers, 3s": {shop, within(3 * time.Second), "rollout", apptest.Promises{}}, "late answers, 10s": {shop, within(10 * time.Second), "rollout", apptest.Promises{}},
			"secret: in data": {careful + token, secret("token", "old"), "rollout", apptest.Promises{}}, "secret: in stringData": {careful + token, secret("token", "header"), "rollout", apptest.Promises{}},
			"secret: no such key": {careful + token, secret("token", "heder"), "", apptest.Promises{}}, "secret: of the cluster": {careful + token, secret("made-later", "header"), "rollout", apptest.Promises{}},
		},
		"services.txt": {
			"headless": {byName, urls("http://peers/"), "delete-pod", apptest.Promises{}}, "headless, a number": {byName, urls("http://own:8080/"), "delete-pod", apptest.Promises{}}, "headless, a name": {byName, urls("http://own.shop.svc:9090/"), "delete-pod", apptest.Promises{}},
			"headless, another port": {byName, urls("http://own/"), "", apptest.Promises{}}, "one pod": {byName, urls("http://web-0.peers/"), "", apptest.Promises{}}, "one pod of a Service with an address": {byName, urls("http://web-0.web/"), "", apptest.Promises{}},
			"an alias": {byName, urls("http://alias.shop/path", "tcp://alias:80"), "delete-pod", apptest.Promises{}}, "an alias, another port": {byName, urls("http://alias:81/"), "", apptest.Promises{}}, "an alias of the outside": {byName, urls("http://mail/"), "", apptest.Promises{}},
			"an alias of half a name": {byName, urls("http://short/"), "", apptest.Promises{}}, "an alias of itself": {byName, urls("http://round/"), "", apptest.Promises{}}, "no selector": {byName, urls("http://bare/"), "", apptest.Promises{}},
			"pods of others": {byName, urls("http://old/"), "", apptest.Promises{}}, "no pods": {byName, urls("http://elsewhere/"), "", apptest.Promises{}}, "another label": {byName, urls("http://canary/"), "", apptest.Promises{}},
			"another port": {shop, urls("http://web:81/"), "", apptest.Promises{}}, "no Service": {shop, urls("http://shop.example.com/"), "", apptest.Promises{}},
			"another namespace": {careful + "---\napiVersion: v1\nkind: Service\nmetadata: {name: db, namespace: other}\nspec: {ports: [{port: 80}]}\n", urls("http://db.other/"), "", apptest.Promises{}},
			"a name of no port": {ported, web, "", apptest.Promises{}}, "another name of a port": {initially("restartPolicy: Always, ", "htpp"), web, "", apptest.Promises{}},
			"of a container's end": {initially("", "http"), web, "", apptest.Promises{}}, "of a sidecar": {initially("restartPolicy: Always, ", "http"), web, "rollout", apptest.Promises{}},
			"nothing to ask": {alone, nil, "", apptest.Promises{}}, "nothing but a headless one": {alone + service("db", "clusterIP: None, selector: {app: w}, ports: [{port: 80, targetPort: 8080}]"), nil, "", apptest.Promises{}},
			"two of one name":       {careful + "---\n" + replaced(alone, "kind: Deployment\nmetadata: {name: worker}", "kind: StatefulSet\nmetadata: {name: web}"), web, "", apptest.Promises{}},
			"worth knowing":         {careful + service("mail", "type: ExternalName, externalName: mail.example.com") + mail, web, "rollout", apptest.Promises{}},
			"a class of nobody":     {replaced(careful, "    spec:\n      containers:", "    spec:\n      priorityClassName: high\n      containers:"), web, "", apptest.Promises{}},
			"a node's own pods":     {replaced(behindAnIngress, "type: LoadBalancer", "internalTrafficPolicy: Local"), urls("http://web/", "http://edge.shop.svc.cluster.local/"), "", apptest.Promises{}},
			"not asked at its node": {replaced(behindAnIngress, "type: LoadBalancer", "internalTrafficPolicy: Local"), web, "rollout", apptest.Promises{}},
		},
		"fronts.txt": {
			"an Ingress": {behindAnIngress, urls("http://shop.example.com/"), "rollout", apptest.Promises{}}, "an Ingress, over HTTPS": {behindAnIngress, urls("https://shop.example.com/cart"), "rollout", apptest.Promises{}},
			"a proxy": {behindAnIngress, proxy("http://edge/", "web"), "rollout", apptest.Promises{}}, "a Service of nobody": {behindAnIngress, urls("http://shop.example.com/lost"), "", apptest.Promises{}},
			"no host of it": {behindAnIngress, urls("http://shop.example.org/"), "", apptest.Promises{}}, "behind something unknown": {behindAnIngress, proxy("http://edge/", "wbe"), "", apptest.Promises{}},
			"behind an Ingress": {behindAnIngress, proxy("http://shop.example.com/", "web"), "", apptest.Promises{}}, "behind itself": {behindAnIngress, proxy("http://edge/", "edge"), "", apptest.Promises{}},
			"that hashes": {annotated("nginx.ingress.kubernetes.io/upstream-hash-by: $remote_addr"), urls("http://shop.example.com/"), "delete-pod", apptest.Promises{}}, "that hashes the request": {annotated("nginx.org/lb-method: hash $request_id"), urls("http://shop.example.com/"), "delete-pod", apptest.Promises{}},
			"sticky, not asked": {sticky, web, "rollout", apptest.Promises{}}, "sticky, an entry": {sticky, urls("http://shop.example.com/"), "rollout", apptest.Promises{}},
			"a load balancer at its cluster IP": {behindAnIngress, urls("http://edge/"), "rollout:edge", apptest.Promises{}},
			"outside: a Service's port":         {outside, from("http://ports/"), "delete-pod", apptest.Promises{}}, "outside: a node port": {outside, from("http://ports:30080/"), "delete-pod", apptest.Promises{}},
			"outside: a load balancer": {outside, from("http://cloud/"), "delete-pod", apptest.Promises{}}, "outside: its node port": {outside, from("http://cloud:30081/"), "delete-pod", apptest.Promises{}},
			"outside: asked inside": {outside, urls("http://ports/"), "delete-pod", apptest.Promises{}}, "outside: a node port inside": {outside, urls("http://ports:30080/"), "", apptest.Promises{}},
			"outside: another's node port": {outside, from("http://ports:30081/"), "", apptest.Promises{}}, "outside: a cluster IP": {outside, from("http://web/"), "", apptest.Promises{}},
			"outside: headless": {outside, from("http://peers/"), "", apptest.Promises{}}, "outside: an Ingress": {outside, from("http://shop.example.com/"), "", apptest.Promises{}},
			"outside: a proxy at node ports": {outside, from("http://ports/", "web"), "", apptest.Promises{}},
			"outside: one client, one pod":   {replaced(careful, "metadata: {name: web}\nspec: {selector", "metadata: {name: web}\nspec: {type: NodePort, sessionAffinity: ClientIP, selector"), from("http://web/"), "delete-pod", apptest.Promises{}},
		},
	}
	for file, rows := range files {
		got := map[string]string{}
		for name, r := range rows {
			got[name] = shown(r.test(t).Scenarios())
		}
		golden(t, file, got)
	}
}

// Names of scenarios are made of those of workloads, which may have dots and dashes that names of scenarios have not. No two are the same.
func TestNamesOfScenarios(t *testing.T) {
	for _, test := range []struct{ workloads, want []string }{
		{[]string{"shop.v1", "cart.v1"}, []string{"shop-v1", "cart-v1"}}, {[]string{"a--b", "a"}, []string{"a-b", "a"}},
		{[]string{"shop.v1", "shop-v1", "shop--v1"}, []string{"shop-v1-2", "shop-v1", "shop-v1-3"}}, {[]string{"a.b", "a--b", "a-b-2"}, []string{"a-b", "a-b-3", "a-b-2"}},
	} {
		text, probes := each(test.workloads...)
		run := row{text, probes, "rollout", apptest.Promises{}}.test(t)
		specs, _, err := run.Scenarios()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range specs {
			got = append(got, strings.TrimPrefix(s.Name, "app/rollout-"))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		specs, _, err = run.Ablate(1)
		seen := map[string]bool{}
		for _, s := range specs {
			seen[s.Name] = true
		}
		if err != nil || len(seen) != len(specs) || len(seen) < 4*len(test.workloads) {
			t.Errorf("an ablation of %d scenarios with %d names: %v", len(specs), len(seen), err)
		}
	}
}

// The load of a scenario stays bounded, however many probes look at it, and what a probe says of its rate is kept.
func TestProbesShareTheRate(t *testing.T) {
	for _, test := range []struct {
		probes     int
		own        float64 // rate of the first
		want, last float64 // rates of the first probe and of the last
	}{{1, 0, 50, 50}, {4, 0, 50, 50}, {8, 0, 25, 25}, {3, 150, 150, 25}, {2, 500, 500, 10}, {30, 0, 10, 10}} {
		probes := urls(slices.Repeat([]string{"http://web/"}, test.probes)...)
		probes[0].Rate = test.own
		specs, _, err := row{withACache, probes, "rollout", apptest.Promises{}}.test(t).Scenarios()
		if err != nil {
			t.Fatal(err)
		}
		if all := specs[0].Load; all[0].Rate != test.want || all[len(all)-2].Rate != test.last {
			t.Errorf("%+v: rates %v and %v", test, all[0].Rate, all[len(all)-2].Rate)
		}
		if notes := strings.Join(specs[0].Notes, " "); strings.Contains(notes, fmt.Sprintf("send %v requests a second on each lane, and not 50, because all lanes share 400", test.last)) != (test.last < 50) {
			t.Errorf("%+v: notes %q", test, notes)
		}
	}
}

// On a cluster that is there already, what no manifest creates may exist. An ablation is refused as a test is.
func TestAClusterMayHaveMore(t *testing.T) {
	test := row{strings.Replace(careful, "    spec:\n      containers:", "    spec:\n      priorityClassName: high\n      containers:", 1), urls("http://web/"), "", apptest.Promises{}}.test(t)
	if _, _, err := test.Ablate(1); err == nil || !strings.Contains(err.Error(), "PriorityClass high") {
		t.Errorf("an ablation: %v", err)
	}
	test.Existing = true
	if _, _, err := test.Scenarios(); err != nil {
		t.Error(err)
	}
}

// Neither the digest of a certificate nor --watch takes a test for another whose promises or ways differ.
func TestDigests(t *testing.T) {
	web := urls("http://web/")
	seen := map[string]string{}
	for name, r := range map[string]row{
		"the defaults": {shop, web, "", apptest.Promises{}}, "outside": {shop, edited("http://web/", func(p *apptest.Probe) { p.Outside = true }), "", apptest.Promises{}},
		"a few":        {shop, web, "", apptest.Promises{Each: apptest.Promise{Failed: apptest.Allowance{AtMost: 1}}}},
		"a share":      {shop, web, "", apptest.Promises{Each: apptest.Promise{Failed: apptest.Allowance{Share: 0.01}}}},
		"of one probe": {shop, web, "", apptest.Promises{Of: map[string]apptest.Promise{"cart": {Failed: apptest.Allowance{AtMost: 1}}}}},
		"of the other": {shop, web, "", apptest.Promises{Of: map[string]apptest.Promise{"web": {Failed: apptest.Allowance{AtMost: 1}}}}},
		"a time":       {shop, web, "", apptest.Promises{Each: apptest.Promise{EndsWithin: time.Second}}},
		"slow answers": {shop, web, "", apptest.Promises{Each: apptest.Promise{SlowerBy: time.Second}}},
	} {
		digest := r.test(t).Digest()
		if other, taken := seen[digest]; taken {
			t.Errorf("%s has the digest of %s", name, other)
		}
		seen[digest] = name
	}
}

// What is not tested and what a reader must know is said once, and what would be done is listed.
func TestAnnounce(t *testing.T) {
	test := row{withACache, urls("http://web/"), "delete-pod:cache,rollout:cache", apptest.Promises{}}.test(t)
	specs, untested, err := test.Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	apptest.Announce(&out, specs, untested)
	apptest.List(&out, specs)
	golden(t, "announced.txt", map[string]string{"two faults": out.String()})
}

func TestPracticesHaveTheirLines(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("web.yaml", []byte(careful), 0o600); err != nil {
		t.Fatal(err)
	}
	a := read(t, careful)
	var got []string
	for _, p := range apptest.Practices(a, a.Workloads[0]) {
		got = append(got, p.Name+" "+p.Place+" "+p.Fault+": without "+p.Removed)
	}
	want := []string{
		"prestop web.yaml:16 rollout: without the preStop hook of container nginx", "readiness web.yaml:14 rollout: without the readiness probe of container nginx",
		"surge web.yaml:6 rollout: without its rolling update strategy", "replicas web.yaml:5 drain: without its replicas (1 instead)",
		"budget web.yaml:26 drain: without disruption budget web",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("practices (-want +got):\n%s", diff)
	}
}
