package apptest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/apptest"
	"github.com/holdfast-ha/holdfast/workloads/app"
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
		"no Service":          {[]string{"http://shop.example.com/"}, nil, "shop.example.com is no Service of the application, which has web, peers, elsewhere"},
		"a Service of nobody": {[]string{"http://elsewhere/"}, nil, "Service elsewhere selects no pods"},
		"a headless Service":  {[]string{"http://peers/"}, nil, "Service peers is headless"},
		"no http":             {[]string{"postgres://web/"}, nil, "is no URL of a Service"},
		"an unknown fault":    {[]string{"http://web/"}, []string{"earthquake"}, `there is no fault "earthquake": want one of delete-pod, drain`},
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
