package apptest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

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

// pagesAndCache is a test of pages and of the cache that they need.
func pagesAndCache(t *testing.T, p apptest.Promises, faults ...string) apptest.Test {
	t.Helper()
	a, _ := read(t, withACache)
	return apptest.Test{App: a, Faults: faults, Promises: p, Probes: []apptest.Probe{apptest.OfURL("http://web/", 0), {Name: "cache", URL: "http://cache/", Rate: 10}}}
}

// named is the scenario of a name.
func named(t *testing.T, test apptest.Test, name string) scenario.Spec {
	t.Helper()
	specs, _, err := test.Scenarios()
	at := slices.IndexFunc(specs, func(s scenario.Spec) bool { return s.Name == name })
	if err != nil || at < 0 {
		t.Fatalf("no scenario %s, %v", name, err)
	}
	return specs[at]
}

// Whatever is disturbed, all probes send their requests and are judged: the pages must not notice that the cache is gone.
func TestEveryProbeLooksAtEveryFault(t *testing.T) {
	few := apptest.Promises{Of: map[string]apptest.Promise{"cache": {Failed: apptest.Allowance{Share: 0.99}}}}
	for name, test := range map[string]struct {
		promises apptest.Promises
		fault    string
		want     []string
		claim    string
	}{
		"by default": {apptest.Promises{}, "delete-pod", []string{"NoFailedRequests {}", `AnswersWithin {"foreign":true}`},
			"the deletion of a pod of Deployment cache is invisible to clients of web and cache"},
		"a missing image": {apptest.Promises{}, "bad-image", []string{"NoFailedRequests {}", `AnswersWithin {"foreign":true}`},
			"a rolling update to a missing image and its rollback of Deployment cache is invisible to clients of web and cache"},
		"the cache may be away": {few, "delete-pod", []string{
			`NoFailedRequests {"lanes":["fresh@web","reused@web"]}`, `AnswersWithin {"lanes":["fresh@web","reused@web"],"foreign":true}`,
			`FewFailedRequests {"lanes":["fresh@cache","reused@cache"],"share":0.99,"by":"holdfast.yaml"}`},
			"during the deletion of a pod of Deployment cache, no request fails on lanes fresh@web and reused@web; " +
				"no more than 99 % of the requests fail on lanes fresh@cache and reused@cache together, as holdfast.yaml allows"},
		// The victims' share of the requests is that of one Service.
		"a lost node": {apptest.Promises{}, "node-kill", []string{
			`FailuresEndWithin {"lanes":["fresh@web","reused@web"]}`, `FailuresEndWithin {"lanes":["fresh@cache","reused@cache"]}`},
			"after a node with pods of Deployment cache is killed, only their share of the requests fails, and only until Kubernetes must have noticed"},
	} {
		t.Run(name, func(t *testing.T) {
			s := named(t, pagesAndCache(t, test.promises, test.fault), "app/"+test.fault+"-cache")
			if diff := cmp.Diff(test.want, recorded(t, s)); diff != "" {
				t.Errorf("promises (-want +got):\n%s", diff)
			}
			if s.Claim != test.claim {
				t.Errorf("claim\n%s, want\n%s", s.Claim, test.claim)
			}
			if len(s.Load) != 5 || s.Aside { // the control lane is the fifth
				t.Errorf("lanes %v, aside %t", s.Load, s.Aside)
			}
			// A victim is picked among the pods that answer on their own lanes.
			for lane, want := range map[history.Lane]bool{"fresh@cache": true, "reused@cache": true, "fresh@web": false, "reused@web": false} {
				if got := s.Names(lane, "cache"); got != want {
					t.Errorf("answers on %s name pods of cache: %t, want %t", lane, got, want)
				}
			}
		})
	}
}

// The load of a scenario stays bounded, however many probes look at it, and what a probe says of its rate is kept.
func TestProbesShareTheRate(t *testing.T) {
	a, _ := read(t, withACache)
	for _, test := range []struct {
		probes     int
		own        float64 // rate of the first
		want, last float64 // rates of the first probe and of the last
		noted      string
	}{
		{1, 0, 50, 50, ""}, {4, 0, 50, 50, ""}, {8, 0, 25, 25, "send 25 requests a second on each lane, and not 50, because all lanes share 400"},
		{3, 150, 150, 25, "send 25 requests"}, {2, 500, 500, 10, "send 10 requests"}, {30, 0, 10, 10, "send 10 requests"},
	} {
		t.Run(fmt.Sprint(test.probes, test.own), func(t *testing.T) {
			tested := apptest.Test{App: a, Faults: []string{"rollout"}}
			for n := range test.probes {
				tested.Probes = append(tested.Probes, apptest.OfURL("http://web/", n))
			}
			tested.Probes[0].Rate = test.own
			s := only(t, tested)
			if first, last := s.Load[0].Rate, s.Load[len(s.Load)-2].Rate; first != test.want || last != test.last {
				t.Errorf("rates %v and %v, want %v and %v", first, last, test.want, test.last)
			}
			if notes := strings.Join(s.Notes, " "); !strings.Contains(notes, test.noted) || test.noted == "" && strings.Contains(notes, "share 400") {
				t.Errorf("notes %q, want %q", notes, test.noted)
			}
		})
	}
}

// A fault may be aimed at one workload, also at one without a probe or a Service: the pages are promised all the same.
func TestFaultsAimedAtAWorkload(t *testing.T) {
	test := pagesAndCache(t, apptest.Promises{}, "delete-pod:cache", "delete-pod:cache")
	test.Probes = test.Probes[:1] // nothing is promised of the cache itself
	specs, untested, err := test.Scenarios()
	if err != nil || len(specs) != 1 || len(untested) != 1 || untested[0].Name != "web" || untested[0].Why != "no fault is aimed at it" {
		t.Fatalf("%d scenarios, untested %v, %v", len(specs), untested, err)
	}
	s := specs[0]
	if s.Name != "app/delete-pod-cache" || s.Tested != "cache" || !s.Aside || s.Claim != "the deletion of a pod of Deployment cache is invisible to clients of web" {
		t.Errorf("%s of %s, aside %t: %s", s.Name, s.Tested, s.Aside, s.Claim)
	}
	if diff := cmp.Diff([]string{"NoFailedRequests {}", `AnswersWithin {"foreign":true}`}, recorded(t, s)); diff != "" {
		t.Errorf("promises (-want +got):\n%s", diff)
	}
	var out strings.Builder
	apptest.List(&out, specs)
	if want := "app/delete-pod-cache: " + s.Claim + "\n  promised: no request fails on any lane\n"; !strings.HasPrefix(out.String(), want) || !strings.HasSuffix(out.String(), "1 scenario would run, for about 1m0s\n") {
		t.Errorf("listed %q", out.String())
	}
	for aimed, want := range map[string]string{
		"delete-pod:cash": `there is no Deployment, StatefulSet or DaemonSet "cash": did you mean cache?`, "drian:web": `there is no fault "drian": did you mean drain?`,
	} {
		test.Faults = []string{aimed}
		if _, _, err := test.Scenarios(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", aimed, err, want)
		}
	}
}
