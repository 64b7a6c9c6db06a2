package apptest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/history"
)

const byName = manifests + `---
apiVersion: v1
kind: Service
metadata: {name: own}
spec: {selector: {app: web}, clusterIP: None, ports: [{name: http, port: 80, targetPort: 8080}, {name: metrics, port: 81, targetPort: metrics}]}
---
apiVersion: v1
kind: Service
metadata: {name: alias}
spec: {type: ExternalName, externalName: other.shop.svc.cluster.local}
---
apiVersion: v1
kind: Service
metadata: {name: other}
spec: {type: ExternalName, externalName: web.shop.svc.cluster.local.}
---
apiVersion: v1
kind: Service
metadata: {name: mail}
spec: {type: ExternalName, externalName: smtp.example.com}
---
apiVersion: v1
kind: Service
metadata: {name: short}
spec: {type: ExternalName, externalName: web}
---
apiVersion: v1
kind: Service
metadata: {name: round}
spec: {type: ExternalName, externalName: round.shop.svc.cluster.local}
---
apiVersion: v1
kind: Service
metadata: {name: bare}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: old}
spec: {selector: {app: old}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: canary}
spec: {selector: {app: web, track: canary}, ports: [{port: 80}]}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: rollouts.argoproj.io}
spec: {group: argoproj.io, scope: Namespaced, names: {kind: Rollout, plural: rollouts}, versions: [{name: v1alpha1, served: true, storage: true}]}
---
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: old}
spec: {template: {metadata: {labels: {app: old}}}}
---
apiVersion: v1
kind: Pod
metadata: {name: old-1, labels: {app: old}}
spec: {containers: [{name: old, image: old}]}
`

// A URL may name a headless Service, or one that leads to another of the application. Everything else is refused with what to write, and with what
// a Service selects in place of a tested workload.
func TestNamesOfServices(t *testing.T) {
	a := readIn(t, "shop", strings.Replace(byName, `image: "nginx:1.22"`, `image: "nginx:1.22", ports: [{name: metrics, containerPort: 9090}]`, 1))
	for url, test := range map[string]struct{ want, note string }{
		"http://peers/":             {"", "Service peers is headless: for each new connection, probe peers looks up its pods in the cluster's DNS, as its clients must, so that the DNS is part of what is tested."},
		"http://own:8080/":          {"", "Service own is headless: for each new connection, probe own looks up its pods"},
		"http://own.shop.svc:9090/": {"", "Service own is headless"},
		"http://own/":               {"probe own: Service own is headless, so that its pods are asked at their own port: write 8080 and 9090 in place of 80", ""},
		"http://web-0.peers/":       {"probe web-0: web-0 names one pod of headless Service peers, and no other takes its place, so that each of its restarts would be a failure: name the Service, whose ready pods are asked, with peers in place of web-0.peers", ""},
		"http://web-0.web/":         {"web-0.web is no Service of the application", ""},
		"http://alias/":             {"", ""},
		"http://alias:81/":          {"probe alias: Service web has no port 81; it has 80", ""},
		"http://mail/":              {"probe mail: Service mail is of type ExternalName and leads to smtp.example.com, which is no Service of the application: name the Service of a tested workload", ""},
		"http://short/":             {"Service short is of type ExternalName and leads to web, which is no Service of the application", ""}, // a CNAME is a whole name
		"http://round/":             {"Service round is of type ExternalName and leads to round.shop.svc.cluster.local", ""},
		"http://bare/":              {"probe bare: Service bare selects no pods of a Deployment, StatefulSet or DaemonSet of the application: it has no selector", ""},
		"http://old/":               {"Service old selects no pods of a Deployment, StatefulSet or DaemonSet of the application: it selects those of Rollout old, Pod old-1", ""},
		"http://elsewhere/":         {"of the application: it selects none, by app=nothing: Deployment web has app=web", ""},
		"http://canary/":            {"of the application: it selects none, by app=web,track=canary: Deployment web has no label track", ""},
	} {
		specs, _, err := apptest.Test{App: a, Probes: []apptest.Probe{apptest.OfURL(url, 0)}, Faults: []string{"delete-pod"}}.Scenarios()
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", url, err)
			continue
		}
		if err == nil && test.note != "" && !slices.ContainsFunc(specs[0].Notes, func(n string) bool { return strings.HasPrefix(n, test.note) }) {
			t.Errorf("%s: notes %q", url, specs[0].Notes)
		}
	}
}

// A Service of type ExternalName is asked as its clients do: at the address of the Service that it leads to, with its own name in the request.
func TestAnExternalNameIsFollowed(t *testing.T) {
	a := readIn(t, "shop", byName)
	probe := apptest.OfURL("http://alias.shop/path", 0)
	specs, untested, err := apptest.Test{App: a, Probes: []apptest.Probe{probe, apptest.OfURL("tcp://alias:80", 1)}, Faults: []string{"delete-pod"}}.Scenarios()
	if err != nil || len(untested) != 1 || len(specs) != 1 {
		t.Fatalf("%v, untested %v", err, untested)
	}
	var got []string
	for _, l := range specs[0].Load {
		got = append(got, string(l.Lane)+" "+l.Target+" "+l.Request.Host)
		if service := (history.LanePlan{Target: l.Target}).Service(); l.Lane != history.LaneControl && service != "web" {
			t.Errorf("the record of %s names Service %q", l.Lane, service)
		}
	}
	want := []string{"fresh@alias http://web:80/path alias.shop", "reused@alias http://web:80/path alias.shop", "tcp@alias-2 tcp://web:80 ", "control  "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if lane := specs[0].Load[0].Lane; !specs[0].Names(lane, "web") {
		t.Errorf("answers on %s do not name web's pods", lane)
	}
}
