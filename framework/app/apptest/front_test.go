package apptest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

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

// The pods behind an Ingress are tested, and so are its controller's. The record says that answers do not name the first.
func TestBothSidesOfAFrontAreTested(t *testing.T) {
	a, _ := read(t, behindAnIngress)
	ingress := history.Front{Name: "Ingress shop", Entries: []string{"edge"}, Backends: []string{"web"}}
	proxy := apptest.OfURL("http://edge/", 0)
	proxy.Behind = []string{"web"}
	for name, test := range map[string]struct {
		probe apptest.Probe
		front history.Front
	}{
		"an Ingress":             {apptest.OfURL("http://shop.example.com/", 0), ingress},
		"a proxy of one's own":   {proxy, history.Front{Name: "Service edge", Entries: []string{"edge"}, Backends: []string{"web"}}},
		"an Ingress, over HTTPS": {apptest.OfURL("https://shop.example.com/cart", 0), ingress},
	} {
		t.Run(name, func(t *testing.T) {
			specs, untested, err := apptest.Test{App: a, Probes: []apptest.Probe{test.probe}, Faults: []string{"rollout"}}.Scenarios()
			if err != nil || len(untested) > 0 {
				t.Fatalf("untested %v, %v", untested, err)
			}
			notes := map[string]string{}
			for _, s := range specs {
				notes[s.Name] = strings.Join(s.Notes, " ")
				want := map[history.Lane]history.Front{history.LaneFresh: test.front, history.LaneReused: test.front}
				if diff := cmp.Diff(want, s.Fronts); diff != "" {
					t.Errorf("%s: fronts (-want +got):\n%s", s.Name, diff)
				}
			}
			for name, want := range map[string]string{
				"app/rollout-web": "which pod of Deployment web answers it is inferred", "app/rollout-edge": "The volumes of StatefulSet edge are folders, each of one node.",
			} {
				if !strings.Contains(notes[name], want) {
					t.Errorf("notes of %s: %q, want %q", name, notes[name], want)
				}
			}
			if strings.Contains(notes["app/rollout-web"], "volumes") || len(specs) != 2 {
				t.Errorf("%d scenarios; web has no volumes: %q", len(specs), notes["app/rollout-web"])
			}
		})
	}
}

func TestFrontsThatLeadNowhere(t *testing.T) {
	a, _ := read(t, behindAnIngress)
	for name, test := range map[string]struct {
		url    string
		behind []string
		want   string
	}{
		"a Service of nobody":      {"http://shop.example.com/lost", nil, "Ingress shop leads to no Service with pods"},
		"no host of it":            {"http://shop.example.org/", nil, "no host of an Ingress or HTTPRoute. It has web, edge, shop.example.com (Ingress shop)"},
		"behind something unknown": {"http://edge/", []string{"wbe"}, "behind: wbe is no Service with pods"},
		"behind an Ingress":        {"http://shop.example.com/", []string{"web"}, "Ingress shop says itself which Services are behind it"},
		"behind itself":            {"http://edge/", []string{"edge"}, "Service edge cannot be behind itself"},
	} {
		t.Run(name, func(t *testing.T) {
			p := apptest.OfURL(test.url, 0)
			p.Behind = test.behind
			if _, _, err := (apptest.Test{App: a, Probes: []apptest.Probe{p}}).Scenarios(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestNotesAreSaidOnce(t *testing.T) {
	var out strings.Builder
	apptest.Announce(&out, []scenario.Spec{{Notes: []string{"a", "b"}}, {Notes: []string{"a"}}}, []apptest.Untested{{Workload: app.Workload{Controller: workloads.Controller{Name: "cron", Kind: "Deployment"}}, Why: "no URL leads to it"}})
	want := "untested: Deployment cron: no URL leads to it\nnote: a\nnote: b\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Where each client comes to one pod, the record says so: answers then show nothing of the others.
func TestAFrontThatLeadsEachClientToOnePodIsSaidTo(t *testing.T) {
	const hash = "nginx.ingress.kubernetes.io/upstream-hash-by"
	outside := apptest.OfURL("http://web/", 0)
	outside.Outside = true
	for name, test := range map[string]struct {
		old, is string
		probe   apptest.Probe
		want    string
	}{
		"an Ingress that hashes":      {"metadata: {name: shop}", "metadata: {name: shop, annotations: {" + hash + ": $remote_addr}}", apptest.OfURL("http://shop.example.com/", 0), hash + ": $remote_addr"},
		"one that hashes the request": {"metadata: {name: shop}", "metadata: {name: shop, annotations: {nginx.org/lb-method: hash $request_id}}", apptest.OfURL("http://shop.example.com/", 0), ""},
		"one with a cookie":           {"metadata: {name: shop}", "metadata: {name: shop, annotations: {nginx.ingress.kubernetes.io/affinity: cookie}}", apptest.OfURL("http://shop.example.com/", 0), ""},
		"one with another algorithm":  {"metadata: {name: shop}", "metadata: {name: shop, annotations: {haproxy.org/load-balance: leastconn}}", apptest.OfURL("http://shop.example.com/", 0), ""},
		"node ports":                  {"metadata: {name: web}\nspec: {selector", "metadata: {name: web}\nspec: {type: NodePort, sessionAffinity: ClientIP, selector", outside, "sessionAffinity ClientIP of Service web"},
	} {
		t.Run(name, func(t *testing.T) {
			a, _ := read(t, strings.Replace(behindAnIngress, test.old, test.is, 1))
			specs, _, err := apptest.Test{App: a, Probes: []apptest.Probe{test.probe}, Faults: []string{"delete-pod"}}.Scenarios()
			if err != nil || len(specs) == 0 {
				t.Fatalf("%d scenarios, %v", len(specs), err)
			}
			if f, is := specs[0].Fronts[history.LaneFresh]; !is || f.Sticky != test.want {
				t.Errorf("%+v, want %q", f, test.want)
			}
		})
	}
}
