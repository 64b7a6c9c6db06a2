package apptest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/history"
)

const doors = manifests + `---
apiVersion: v1
kind: Service
metadata: {name: ports}
spec: {type: NodePort, externalTrafficPolicy: Local, selector: {app: web}, ports: [{port: 80, nodePort: 30080}]}
---
apiVersion: v1
kind: Service
metadata: {name: cloud}
spec: {type: LoadBalancer, externalTrafficPolicy: Local, selector: {app: web}, ports: [{port: 80, nodePort: 30081}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: shop}
spec: {rules: [{host: shop.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}
`

// A probe from outside is sent to node ports, whose pods are inferred, or to the address of a load balancer, which names them. What no client
// outside of the cluster can ask is refused with what to write.
func TestProbesFromOutside(t *testing.T) {
	a := readIn(t, "shop", doors)
	ports := func(of string) history.Front {
		return history.Front{Name: "the node ports of Service " + of, Entries: []string{of}, Backends: []string{of}}
	}
	const (
		inTurn   = ", of each worker in turn: no load balancer leaves out a node that is lost or has no pod. Which pod answers is inferred from its endpoints."
		balanced = "The requests of probe cloud go to the address of a load balancer that stands for the cloud's"
		unmet    = "spec.externalTrafficPolicy: it is for clients outside of the cluster"
	)
	for name, test := range map[string]struct {
		url         string
		inside      bool
		behind      []string
		front       history.Front // none: its pods are known
		note, never string        // parts of notes
		err         string
	}{
		"a Service's port":         {url: "http://ports/", front: ports("ports"), note: "The requests of probe ports go to the node ports of Service ports" + inTurn, never: unmet},
		"a node port":              {url: "http://ports:30080/", front: ports("ports"), note: inTurn, never: "spec.type"},
		"a load balancer":          {url: "http://cloud/", note: balanced, never: "spec.type"},
		"with a policy it has not": {url: "http://cloud/", note: unmet},
		"its node port":            {url: "http://cloud:30081/", front: ports("cloud"), note: inTurn, never: unmet},
		"inside":                   {url: "http://ports/", inside: true, note: unmet},
		"a node port inside":       {url: "http://ports:30080/", inside: true, err: "probe ports: Service ports has no port 30080; it has 80. To ask its node ports, say from: outside"},
		"another's node port":      {url: "http://ports:30081/", err: "probe ports: Service ports has no port 30081; it has 80"},
		"a cluster IP":             {url: "http://web/", err: "probe web: from: Service web has the type ClusterIP, so that nothing outside of the cluster reaches it: give it the type NodePort or LoadBalancer, or leave from out"},
		"a headless Service":       {url: "http://peers/", err: "probe peers: from: Service peers has the type ClusterIP"},
		"an Ingress":               {url: "http://shop.example.com/", err: "probe shop: from: Ingress shop is asked at the address of its controller in any case: leave it out"},
		"a proxy at node ports":    {url: "http://ports/", behind: []string{"web"}, err: "probe ports: behind: which pod of Service ports takes a request to a node port is not known"},
	} {
		p := apptest.OfURL(test.url, 0)
		p.Outside, p.Behind = !test.inside, test.behind
		specs, _, err := apptest.Test{App: a, Probes: []apptest.Probe{p}, Faults: []string{"delete-pod"}}.Scenarios()
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s := specs[0]
		if diff := cmp.Diff(test.front, s.Fronts[history.LaneFresh]); diff != "" || s.Load[0].Outside == test.inside {
			t.Errorf("%s: outside %t, front (-want +got):\n%s", name, s.Load[0].Outside, diff)
		}
		if names := s.Names(history.LaneFresh, "web"); names != (test.front.Name == "") {
			t.Errorf("%s: answers name pods: %t", name, names)
		}
		if !slices.ContainsFunc(s.Notes, func(n string) bool { return strings.Contains(n, test.note) }) ||
			test.never != "" && strings.Contains(strings.Join(s.Notes, "\n"), test.never) {
			t.Errorf("%s: notes %q, want %q and not %q", name, s.Notes, test.note, test.never)
		}
	}
}

// A test that asks only inside has the digest that it had before there were others.
func TestADigestKnowsFromWhereIsAsked(t *testing.T) {
	a := readIn(t, "shop", doors)
	inside := apptest.Test{App: a, Probes: []apptest.Probe{apptest.OfURL("http://ports/", 0)}}
	outside := apptest.Test{App: a, Probes: []apptest.Probe{{Name: "ports", URL: "http://ports/", Outside: true}}}
	if inside.Digest() == outside.Digest() {
		t.Error("both have the same digest")
	}
}
