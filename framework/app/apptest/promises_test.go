package apptest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// twoProbes is a test of the shop with two probes.
func twoProbes(t *testing.T, p apptest.Promises, faults ...string) apptest.Test {
	t.Helper()
	return apptest.Test{App: shop(t), Faults: faults, Promises: p, Probes: []apptest.Probe{apptest.OfURL("http://web/", 0), {Name: "cart", URL: "http://web/cart", Rate: 10}}}
}

// only is the only scenario of a test.
func only(t *testing.T, test apptest.Test) scenario.Spec {
	t.Helper()
	specs, _, err := test.Scenarios()
	if err != nil || len(specs) != 1 {
		t.Fatalf("%d scenarios, %v", len(specs), err)
	}
	return specs[0]
}

// recorded are promises as a record has them: an old record is judged by what was promised then.
func recorded(t *testing.T, s scenario.Spec) (all []string) {
	t.Helper()
	for _, p := range s.Promises {
		stored, err := invariant.Encode(p)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, stored.Kind+" "+string(stored.Params))
	}
	return all
}

const both = `"lanes":["fresh@web","reused@web"]`

func TestPromisesOfScenarios(t *testing.T) {
	for name, test := range map[string]struct {
		promises apptest.Promises
		fault    string
		want     []string
		claim    string
		notes    []string
	}{
		"the defaults": {apptest.Promises{}, "drain", []string{"NoFailedRequests {}", `AnswersWithin {"foreign":true}`, `DrainCompletes {"workload":"web"}`},
			"the drain of a node of Deployment web is invisible to clients", nil},
		"the defaults of a lost node": {apptest.Promises{}, "node-kill", []string{"FailuresEndWithin {}"},
			"after a node with pods of Deployment web is killed, only their share of the requests fails, and only until Kubernetes must have noticed", nil},
		"the defaults of an eviction": {apptest.Promises{}, "disk-pressure", []string{`FailuresEndWithin {"limit":5000000000}`},
			"when a kubelet short of disk evicts pods of Deployment web, only their share of the requests fails, and none later than 5 s after the last eviction", nil},
		// A number is of each probe, so that what one does not need is no help for the other.
		"a few of each probe": {apptest.Promises{Each: apptest.Promise{Failed: apptest.Allowance{AtMost: 3}}}, "rollout", []string{
			`FewFailedRequests {` + both + `,"atMost":3,"by":"holdfast.yaml"}`, `FewFailedRequests {"lanes":["fresh@cart","reused@cart"],"atMost":3,"by":"holdfast.yaml"}`,
			`RolloutCompletes {"workload":"web"}`},
			"during a rolling update and its rollback of Deployment web, no more than 3 requests fail on lanes fresh@web and reused@web together, as holdfast.yaml allows; " +
				"no more than 3 requests fail on lanes fresh@cart and reused@cart together, as holdfast.yaml allows", []string{
				"holdfast.yaml promises less than the default: of the requests of probe web, 3 may fail, where by default none may, and nothing is promised of how long answers take.",
				"holdfast.yaml promises less than the default: of the requests of probe cart, 3 may fail, where by default none may, and nothing is promised of how long answers take."}},
		"a share of one probe": {apptest.Promises{Of: map[string]apptest.Promise{"cart": {Failed: apptest.Allowance{Share: 0.001}}}}, "scale", []string{
			`NoFailedRequests {` + both + `}`, `AnswersWithin {` + both + `,"foreign":true}`, `FewFailedRequests {"lanes":["fresh@cart","reused@cart"],"share":0.001,"by":"holdfast.yaml"}`},
			"during scaling up, down and back of Deployment web, no request fails on lanes fresh@web and reused@web; " +
				"no more than 0.1 % of the requests fail on lanes fresh@cart and reused@cart together, as holdfast.yaml allows",
			[]string{"holdfast.yaml promises less than the default: of the requests of probe cart, 0.1 % may fail, where by default none may, and nothing is promised of how long answers take."}},
		"how slow answers may become": {apptest.Promises{Each: apptest.Promise{SlowerBy: 500 * time.Millisecond}}, "delete-pod",
			[]string{"NoFailedRequests {}", `AnswersWithin {"slowest":500000000,"p99":500000000,"foreign":true}`},
			"during the deletion of a pod of Deployment web, no request fails on any lane; " +
				"the slowest answer on any lane takes at most 500ms longer than while nothing is disturbed, and 99 of 100 at most 500ms longer", nil},
		"sooner than predicted": {apptest.Promises{Each: apptest.Promise{EndsWithin: 20 * time.Second}, Of: map[string]apptest.Promise{"cart": {EndsWithin: 5 * time.Second}}}, "freeze",
			[]string{`FailuresEndWithin {` + both + `,"limit":20000000000}`, `FailuresEndWithin {"lanes":["fresh@cart","reused@cart"],"limit":5000000000}`},
			"after a node with pods of Deployment web hangs, requests fail on lanes fresh@web and reused@web only until 20s after a fault, and only the victims' share of them fails; " +
				"requests fail on lanes fresh@cart and reused@cart only until 5s after a fault, and only the victims' share of them fails", []string{
				"holdfast.yaml promises of the requests of probe web that none fails later than 20s after the victims have last answered, in place of the default.",
				"holdfast.yaml promises of the requests of probe cart that none fails later than 5s after the victims have last answered, in place of the default."}},
		// What is promised of one class says nothing of another.
		"of another class": {apptest.Promises{Each: apptest.Promise{EndsWithin: time.Minute}, Of: map[string]apptest.Promise{"cart": {}}}, "rollout",
			[]string{"NoFailedRequests {}", `AnswersWithin {"foreign":true}`, `RolloutCompletes {"workload":"web"}`},
			"a rolling update and its rollback of Deployment web is invisible to clients", nil},
		"a lost node, and a few": {apptest.Promises{Each: apptest.Promise{Failed: apptest.Allowance{AtMost: 3}}}, "node-kill", []string{"FailuresEndWithin {}"},
			"after a node with pods of Deployment web is killed, only their share of the requests fails, and only until Kubernetes must have noticed", nil},
		"what no pod meets": {apptest.Promises{Each: apptest.Promise{Failed: apptest.Allowance{AtMost: 3}, EndsWithin: time.Minute}}, "kubelet", []string{"NoFailedRequests {}", `AnswersWithin {"foreign":true}`},
			"a minute without the kubelet of a node of Deployment web is invisible to clients", nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := only(t, twoProbes(t, test.promises, test.fault))
			if diff := cmp.Diff(test.want, recorded(t, s)); diff != "" {
				t.Errorf("promises (-want +got):\n%s", diff)
			}
			if s.Claim != test.claim {
				t.Errorf("claim\n%s, want\n%s", s.Claim, test.claim)
			}
			notes := slices.DeleteFunc(s.Notes, func(note string) bool { return !strings.HasPrefix(note, "holdfast.yaml") })
			if diff := cmp.Diff(fmt.Sprint(test.notes), fmt.Sprint(notes)); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}

// A fault is not reverted before failures had to be over, and enough answers come before it to compare others with.
func TestPromisesHaveTheirTime(t *testing.T) {
	kill := only(t, twoProbes(t, apptest.Promises{}, "node-kill"))
	longer := only(t, twoProbes(t, apptest.Promises{Of: map[string]apptest.Promise{"cart": {EndsWithin: time.Minute}}}, "node-kill"))
	if longer.Hold != 65*time.Second || longer.About != kill.About+longer.Hold-kill.Hold {
		t.Errorf("held for %s, about %s; by default %s and %s", longer.Hold, longer.About, kill.Hold, kill.About)
	}
	if sooner := only(t, twoProbes(t, apptest.Promises{Each: apptest.Promise{EndsWithin: time.Second}}, "node-kill")); sooner.Hold != kill.Hold {
		t.Errorf("held for %s, by default %s", sooner.Hold, kill.Hold)
	}
	slow := only(t, twoProbes(t, apptest.Promises{Each: apptest.Promise{SlowerBy: time.Second}}, "rollout"))
	if answers := slow.Steady.Seconds() * 10; answers < 110 || slow.Steady > 20*time.Second {
		t.Errorf("%s before the fault, with %.0f answers", slow.Steady, answers)
	}
}

// How long answers take is promised by default where enough of them come before the disruption to tell what is usual. Of another probe a note says
// that nothing is, and slower-by promises it nevertheless.
func TestAnswerTimesArePromised(t *testing.T) {
	rare := twoProbes(t, apptest.Promises{}, "rollout")
	rare.Probes[1].Rate = 1
	s := only(t, rare)
	want := []string{"NoFailedRequests {}", `AnswersWithin {` + both + `,"foreign":true}`, `RolloutCompletes {"workload":"web"}`}
	if diff := cmp.Diff(want, recorded(t, s)); diff != "" {
		t.Errorf("promises (-want +got):\n%s", diff)
	}
	const note = "Nothing is promised of how long answers to probe cart take"
	if s.Steady > 6*time.Second || !strings.Contains(strings.Join(s.Notes, " "), note) {
		t.Errorf("%s before the fault, notes %q", s.Steady, s.Notes)
	}
	rare.Promises.Each.SlowerBy = time.Second
	if s = only(t, rare); s.Steady != 2*time.Minute || strings.Contains(strings.Join(s.Notes, " "), note) {
		t.Errorf("with slower-by, %s before the fault, notes %q", s.Steady, s.Notes)
	}
	usual := only(t, twoProbes(t, apptest.Promises{}, "rollout"))
	if answers := usual.Steady.Seconds() * 10; answers < 110 {
		t.Errorf("%.0f answers of the probe with 10 requests a second before the fault", answers)
	}
}

// Neither the digest of a certificate nor --watch takes a test for another whose promises differ.
func TestDigestKnowsPromises(t *testing.T) {
	seen := map[string]string{}
	for name, p := range map[string]apptest.Promises{
		"the defaults": {},
		"a few":        {Each: apptest.Promise{Failed: apptest.Allowance{AtMost: 1}}},
		"a share":      {Each: apptest.Promise{Failed: apptest.Allowance{Share: 0.01}}},
		"of one probe": {Of: map[string]apptest.Promise{"cart": {Failed: apptest.Allowance{AtMost: 1}}}},
		"of the other": {Of: map[string]apptest.Promise{"web": {Failed: apptest.Allowance{AtMost: 1}}}},
		"a time":       {Each: apptest.Promise{EndsWithin: time.Second}},
		"slow answers": {Each: apptest.Promise{SlowerBy: time.Second}},
	} {
		test := twoProbes(t, p)
		if other, taken := seen[test.Digest()]; taken {
			t.Errorf("%s has the digest of %s", name, other)
		}
		seen[test.Digest()] = name
	}
}

// The upgrade of certify is a voluntary disruption.
func TestAnUpgradeKeepsThePromises(t *testing.T) {
	of, err := scenario.Upgrade("v1.37.0", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := twoProbes(t, apptest.Promises{Of: map[string]apptest.Promise{"cart": {Failed: apptest.Allowance{AtMost: 3}, EndsWithin: time.Minute}}}).Upgrade("app/upgrade", of)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`NoFailedRequests {` + both + `}`, `AnswersWithin {` + both + `,"foreign":true}`, `FewFailedRequests {"lanes":["fresh@cart","reused@cart"],"atMost":3,"by":"holdfast.yaml"}`}
	if diff := cmp.Diff(want, recorded(t, s)); diff != "" {
		t.Errorf("promises (-want +got):\n%s", diff)
	}
	const claim = "while the cluster of Deployment web is upgraded to the next version of Kubernetes, node by node, no request fails on lanes fresh@web and reused@web; " +
		"no more than 3 requests fail on lanes fresh@cart and reused@cart together, as holdfast.yaml allows"
	if s.Claim != claim || !slices.ContainsFunc(s.Notes, func(note string) bool { return strings.Contains(note, "promises less than the default") }) {
		t.Errorf("claim %q, notes %q", s.Claim, s.Notes)
	}
}

// An answer like those before is promised during a voluntary disruption, on all lanes of its probe, however few its requests are.
func TestAnswersLikeBeforeArePromised(t *testing.T) {
	a, _ := read(t, manifests)
	like := apptest.OfURL("http://web/", 0)
	like.Like = true
	other := apptest.OfURL("http://web/other", 1)
	few := like
	few.Rate = 2
	const promised = "; and none has a status or a length that no answer had then"
	for name, test := range map[string]struct {
		probes []apptest.Probe
		fault  string
		want   []string
		claims bool
	}{
		"alone":               {[]apptest.Probe{like}, "rollout", []string{"NoFailedRequests {}", `AnswersWithin {"foreign":true,"like":true}`, `RolloutCompletes {"workload":"web"}`}, true},
		"rarely":              {[]apptest.Probe{few}, "delete-pod", []string{"NoFailedRequests {}", `AnswersWithin {"foreign":true,"like":true}`}, true},
		"the API server away": {[]apptest.Probe{like}, "apiserver", []string{"NoFailedRequests {}", `AnswersWithin {"foreign":true,"like":true}`}, true},
		"after a loss":        {[]apptest.Probe{like}, "node-kill", []string{"FailuresEndWithin {}"}, false},
		"beside another": {[]apptest.Probe{like, other}, "delete-pod", []string{
			`NoFailedRequests {"lanes":["fresh@web","reused@web"]}`, `AnswersWithin {"lanes":["fresh@web","reused@web"],"foreign":true,"like":true}`,
			`NoFailedRequests {"lanes":["fresh@web-2","reused@web-2"]}`, `AnswersWithin {"lanes":["fresh@web-2","reused@web-2"],"foreign":true}`,
		}, true},
	} {
		s := only(t, apptest.Test{App: a, Probes: test.probes, Faults: []string{test.fault}})
		if diff := cmp.Diff(test.want, recorded(t, s)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if strings.Contains(s.Claim, promised) != test.claims {
			t.Errorf("%s: %s", name, s.Claim)
		}
	}
	loose := apptest.Promises{Each: apptest.Promise{Failed: apptest.Allowance{AtMost: 3}}}
	_, _, err := apptest.Test{App: a, Probes: []apptest.Probe{like}, Promises: loose}.Scenarios()
	if err == nil || !strings.Contains(err.Error(), "probe web: expect like before, and failed above 0") {
		t.Errorf("with an allowance: %v", err)
	}
}
