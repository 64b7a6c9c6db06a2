package apptest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/request"
	"github.com/holdfast-ha/holdfast/workloads/app"
	"github.com/holdfast-ha/holdfast/workloads/expect"
)

const manifests = `
apiVersion: apps/v1
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

func shop(t *testing.T) app.App {
	t.Helper()
	file := filepath.Join(t.TempDir(), "shop.yaml")
	if err := os.WriteFile(file, []byte(manifests), 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := app.Read(app.Sources{Files: []string{file}})
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(read, "shop")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestScenariosOfAnApplication(t *testing.T) {
	test := apptest.Test{App: shop(t), Probes: []apptest.Probe{apptest.OfURL("http://web/", 0)}}
	specs, untested, err := test.Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range specs {
		names = append(names, s.Name)
		if s.Namespace() != "shop" || s.Controllers()[0].Name != "web" || len(s.Controllers()) != 2 {
			t.Errorf("%s: namespace %s, controllers %v", s.Name, s.Namespace(), s.Controllers())
		}
	}
	if diff := cmp.Diff([]string{"app/rollout", "app/drain", "app/delete-pod", "app/scale", "app/node-kill"}, names); diff != "" {
		t.Errorf("scenarios (-want +got):\n%s", diff)
	}
	if len(untested) != 1 || untested[0].Name != "worker" {
		t.Errorf("untested: %v, want worker, to which no URL leads", untested)
	}
	var lanes []string
	for _, l := range specs[0].Load {
		lanes = append(lanes, string(l.Lane))
	}
	if diff := cmp.Diff([]string{"fresh", "reused", "control"}, lanes); diff != "" {
		t.Errorf("lanes (-want +got):\n%s", diff)
	}
}

func TestLanesAreNamedAfterSeveralProbes(t *testing.T) {
	test := apptest.Test{App: shop(t), Faults: []string{"rollout"}, Probes: []apptest.Probe{
		apptest.OfURL("http://web/", 0), apptest.OfURL("http://web/cart", 1),
	}}
	specs, _, err := test.Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	var lanes []string
	for _, l := range specs[0].Load {
		lanes = append(lanes, string(l.Lane))
	}
	if diff := cmp.Diff([]string{"fresh@web", "reused@web", "fresh@web-2", "reused@web-2", "control"}, lanes); diff != "" {
		t.Errorf("lanes (-want +got):\n%s", diff)
	}
}

func TestWhatCannotBeTestedIsSaid(t *testing.T) {
	a := shop(t)
	for name, test := range map[string]struct {
		urls, faults []string
		want         string
	}{
		"no URL":              {nil, nil, "give the URL of a Service with --url, such as http://web.shop:80/"},
		"no Service":          {[]string{"http://shop.example.com/"}, nil, "shop.example.com is no Service of the application, and no host of an Ingress or HTTPRoute. It has web, peers, elsewhere"},
		"a Service of nobody": {[]string{"http://elsewhere/"}, nil, "Service elsewhere selects no pods"},
		"another port":        {[]string{"http://web:81/"}, nil, "Service web has no port 81; it has 80"},
		"a headless Service":  {[]string{"http://peers:81/"}, nil, "Service peers is headless, so that its pods are asked at their own port: write 80 in place of 81"},
		"no http":             {[]string{"postgres://web/"}, nil, `"postgres://web/" is no URL of a Service: want one such as http://web.shop/`},
		"no scheme":           {[]string{"web:80"}, nil, `"web:80" is no URL of a Service: want http://web:80/ or tcp://web:80`},
		"a path":              {[]string{"web.shop:80/ready"}, nil, `want http://web.shop:80/ready or tcp://web.shop:80`},
		"a database":          {[]string{"redis://web:6379/0"}, nil, `want http://web:6379/0 or tcp://web:6379`},
		"gRPC":                {[]string{"grpc://web:80"}, nil, `"grpc://web:80" is no URL of a Service: use grpc: web:80 in holdfast.yaml`},
		"gRPC and a path":     {[]string{"grpcs://web:80/Health"}, nil, `use grpc: web:80 in holdfast.yaml`},
		"no port":             {[]string{"tcp://web"}, nil, `"tcp://web" has no port: want one such as tcp://web:5432`},
		"a password":          {[]string{"http://jane:hunter2@web/"}, nil, "probe web: its URL has a user or a password, which records and reports would show: leave it out, and send a header from a Secret"},
		"an unknown fault":    {[]string{"http://web/"}, []string{"earthquake"}, `there is no fault "earthquake": want one of apiserver, bad-image, config-change, containerd`},
	} {
		t.Run(name, func(t *testing.T) {
			tested := apptest.Test{App: a, Faults: test.faults}
			for n, url := range test.urls {
				tested.Probes = append(tested.Probes, apptest.OfURL(url, n))
			}
			if _, _, err := tested.Scenarios(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

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

// read is an application of a text, and the file in which the text is.
func read(t *testing.T, text string) (app.App, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "web.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	manifests, err := app.Read(app.Sources{Files: []string{file}})
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(manifests, "")
	if err != nil {
		t.Fatal(err)
	}
	return a, file
}

func TestPracticesHaveTheirLines(t *testing.T) {
	a, file := read(t, careful)
	var got []string
	for _, p := range apptest.Practices(a, a.Workloads[0]) {
		got = append(got, p.Name+" "+strings.TrimPrefix(p.Place, file)+" "+p.Fault+": without "+p.Removed)
	}
	want := []string{
		"prestop :16 rollout: without the preStop hook of container nginx",
		"readiness :14 rollout: without the readiness probe of container nginx",
		"surge :6 rollout: without its rolling update strategy",
		"replicas :5 drain: without its replicas (1 instead)",
		"budget :26 drain: without disruption budget web",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("practices (-want +got):\n%s", diff)
	}
}

func TestProbesOfOtherProtocols(t *testing.T) {
	a := shop(t)
	for name, test := range map[string]struct {
		probe apptest.Probe
		want  []string
	}{
		"a connection":  {apptest.OfURL("tcp://web:80", 0), []string{"tcp", "control"}},
		"a question":    {apptest.Probe{Name: "redis", URL: "tcp://web:80", Request: request.Request{Body: "PING\r\n"}, Expect: expect.Answer{Contains: "+PONG"}}, []string{"tcp", "tcp-kept", "control"}},
		"gRPC":          {apptest.OfHealth("http://web:80", "orders", 0), []string{"h2c", "h2c-fresh", "control"}},
		"a gRPC call":   {apptest.OfCall("http://web:80", request.Call{Method: "orders.v1.Orders/Get"}, "{}", nil, 0), []string{"h2c", "h2c-fresh", "control"}},
		"gRPC over TLS": {apptest.OfHealth("https://web:80", "", 0), []string{"h2", "h2-fresh", "control"}},
		"HTTP":          {apptest.OfURL("http://web", 0), []string{"fresh", "reused", "control"}},
		"HTTP over TLS": {apptest.OfURL("https://web:80", 0), []string{"fresh", "reused", "control"}},
		"a WebSocket":   {apptest.OfURL("ws://web/socket", 0), []string{"ws", "control"}},
		"messages":      {apptest.Probe{Name: "chat", URL: "wss://web:80/socket", Request: request.Request{Body: "ping"}, Expect: expect.Answer{Contains: "pong"}}, []string{"ws", "ws-kept", "control"}},
	} {
		t.Run(name, func(t *testing.T) {
			specs, _, err := apptest.Test{App: a, Probes: []apptest.Probe{test.probe}, Faults: []string{"rollout"}}.Scenarios()
			if err != nil {
				t.Fatal(err)
			}
			var lanes []string
			for _, l := range specs[0].Load {
				lanes = append(lanes, string(l.Lane))
			}
			if diff := cmp.Diff(test.want, lanes); diff != "" {
				t.Errorf("lanes (-want +got):\n%s", diff)
			}
		})
	}
	if _, _, err := (apptest.Test{App: a, Probes: []apptest.Probe{apptest.OfURL("tcp://web", 0)}}).Scenarios(); err == nil || !strings.Contains(err.Error(), "has no port") {
		t.Errorf("TCP without a port: %v", err)
	}
	for _, test := range []struct {
		url, lane, want string
	}{
		{"ws://web/", "reused", `["ws"]`}, {"http://web/", "h2", `["fresh" "reused" "h2c" "h2c-fresh"]`}, {"https://web:80/", "h2c", `["fresh" "reused" "h2" "h2-fresh"]`},
	} {
		wrong := apptest.OfURL(test.url, 0)
		wrong.Lanes = []history.Lane{history.Lane(test.lane)}
		want := fmt.Sprintf("lane %q: want one of %s", test.lane, test.want)
		if _, _, err := (apptest.Test{App: a, Probes: []apptest.Probe{wrong}}).Scenarios(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s on lane %s: %v, want %q", test.url, test.lane, err, want)
		}
	}
	grpc := apptest.OfHealth("http://web:80", "", 0)
	grpc.Lanes = []history.Lane{history.LaneFresh}
	if _, _, err := (apptest.Test{App: a, Probes: []apptest.Probe{grpc}}).Scenarios(); err == nil || !strings.Contains(err.Error(), `want one of ["h2c" "h2c-fresh"]`) {
		t.Errorf("gRPC over HTTP/1.1: %v", err)
	}
	call := apptest.OfCall("http://web:80", request.Call{Method: "Get"}, "", nil, 0)
	if _, _, err := (apptest.Test{App: a, Probes: []apptest.Probe{call}}).Scenarios(); err == nil || !strings.Contains(err.Error(), `probe web: "Get" is no method`) {
		t.Errorf("a call of no method: %v", err)
	}
}

// A verdict must not hide that a wrong certificate would not have been noticed.
func TestUnverifiedCertificatesAreNoted(t *testing.T) {
	for _, unverified := range []bool{true, false} {
		p := apptest.OfHealth("https://web:80", "", 0)
		p.Request.TLS = &request.TLS{Unverified: unverified}
		specs, _, err := apptest.Test{App: shop(t), Probes: []apptest.Probe{p}, Faults: []string{"rollout"}}.Scenarios()
		if err != nil {
			t.Fatal(err)
		}
		if noted := strings.Contains(strings.Join(specs[0].Notes, " "), "The certificate that probe web is shown is not verified"); noted != unverified {
			t.Errorf("unverified %t: notes %q", unverified, specs[0].Notes)
		}
	}
}
