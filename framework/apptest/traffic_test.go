package apptest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/apptest"
	"github.com/holdfast-ha/holdfast/framework/history"
)

// Each scenario notes what the requests of the probes do not meet, in the Services that they are sent to and no others.
func TestNotesOfWhatRequestsDoNotMeet(t *testing.T) {
	const idle = "No kept connection is idle for longer than 640ms, at the scenario's rate from one load worker: longer keep-alive time-outs of servers are not met. " +
		"A lower rate of a probe meets them."
	sticky := strings.NewReplacer("type: LoadBalancer", "type: LoadBalancer, sessionAffinity: ClientIP, internalTrafficPolicy: Local").Replace(behindAnIngress)
	web := apptest.OfURL("http://web/", 0)
	slow := web
	slow.Name, slow.Rate = "slow", 5
	fresh := web
	fresh.Lanes = []history.Lane{history.LaneFresh}
	for name, test := range map[string]struct {
		manifests string
		probes    []apptest.Probe
		want      []string // beginnings
	}{
		"none but idle connections":     {behindAnIngress, []apptest.Probe{web}, []string{idle}},
		"the slowest lane":              {behindAnIngress, []apptest.Probe{web, slow}, []string{"Nothing is promised of how long", "No kept connection is idle for longer than 6.4s"}},
		"no connection is kept":         {behindAnIngress, []apptest.Probe{fresh}, nil},
		"a Service that is not asked":   {sticky, []apptest.Probe{web}, []string{idle}},
		"the entry of an Ingress":       {sticky, []apptest.Probe{apptest.OfURL("http://shop.example.com/", 0)}, []string{idle, "The requests of probe shop pass", "Service edge (web.yaml): spec.sessionAffinity"}},
		"a load balancer's cluster IP":  {behindAnIngress, []apptest.Probe{apptest.OfURL("http://edge/", 0)}, []string{idle, "The volumes of", "Service edge (web.yaml): spec.type"}},
		"what is behind is the proxy's": {strings.Replace(sticky, "metadata: {name: web}\nspec: {selector", "metadata: {name: web}\nspec: {sessionAffinity: ClientIP, selector", 1), []apptest.Probe{apptest.OfURL("http://shop.example.com/", 0)}, []string{idle, "The requests of probe shop pass", "Service edge (web.yaml): spec.sessionAffinity"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := readIn(t, "shop", test.manifests)
			specs, _, err := apptest.Test{App: a, Probes: test.probes, Faults: []string{"rollout"}}.Scenarios()
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range test.want {
				if i >= len(specs[0].Notes) || !strings.HasPrefix(specs[0].Notes[i], want) {
					t.Errorf("notes %q, want one that begins with %q", specs[0].Notes, want)
				}
			}
			if diff := cmp.Diff(len(test.want), len(specs[0].Notes)); diff != "" {
				t.Errorf("%s: notes %q", diff, specs[0].Notes)
			}
		})
	}
}

// A Service whose every request is dropped is refused where its URL is given, in the one list, whatever is tested otherwise.
func TestAServiceOfANodesOwnPodsIsRefused(t *testing.T) {
	a := readIn(t, "shop", strings.Replace(behindAnIngress, "type: LoadBalancer", "internalTrafficPolicy: Local", 1))
	test := apptest.Test{App: a, Probes: []apptest.Probe{apptest.OfURL("http://web/", 0), apptest.OfURL("http://edge.shop.svc.cluster.local/", 1)}}
	const want = "the application cannot work on the cluster of the test, for 1 reason:\n  Service edge (web.yaml): spec.internalTrafficPolicy: "
	_, _, err := test.Scenarios()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v", err)
	}
	if _, _, err := test.Ablate(1); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("an ablation: %v", err)
	}
	test.Probes = test.Probes[:1]
	if _, _, err := test.Scenarios(); err != nil {
		t.Errorf("it is not asked: %v", err)
	}
}
