package apptest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
)

// Each scenario notes what the requests of the probes do not meet, in the Services that they are sent to and no others.
func TestNotesOfWhatRequestsDoNotMeet(t *testing.T) {
	const idle = "No kept connection is idle for longer than 640ms, at the scenario's rate from one load worker: longer keep-alive time-outs of servers are not met. " +
		"The field idle of a probe meets them."
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

// idleProbe is a probe whose kept connections are idle.
func idleProbe(idle time.Duration, rate float64, lanes ...history.Lane) apptest.Probe {
	p := apptest.OfURL("http://web/", 0)
	p.Idle, p.Rate, p.Lanes = idle, rate, lanes
	return p
}

// Kept connections are idle for as long as the probe says, on as many connections as are bearable, and long enough before and after the fault.
func TestIdleConnections(t *testing.T) {
	const fewer = "The kept connections of probe web send 12.8 requests a second, and not 50, because 128 connections at most are idle for 10s: " +
		"an outage shorter than 78ms may be missed on them."
	for name, test := range map[string]struct {
		probe             apptest.Probe
		rate              float64 // of the kept lane, which comes last
		steady, recovered time.Duration
		about             time.Duration
		notes             []string // beginnings
	}{
		"not at all":       {idleProbe(0, 0), 50, 6 * time.Second, 5 * time.Second, time.Minute, []string{"No kept connection is idle for longer than 640ms"}},
		"as long as Node":  {idleProbe(2*time.Second, 0), 50, 6 * time.Second, 5 * time.Second, time.Minute, []string{"No kept connection is idle for longer than 2s"}},
		"at a lower rate":  {idleProbe(10*time.Second, 0), 12.8, 25 * time.Second, 15 * time.Second, 89 * time.Second, []string{"No kept connection is idle for longer than 10s", fewer}},
		"at its own rate":  {idleProbe(10*time.Second, 5), 5, 25 * time.Second, 15 * time.Second, 89 * time.Second, []string{"Nothing is promised of how long", "No kept connection is idle for longer than 10s"}},
		"on a kept lane":   {idleProbe(2*time.Second, 0, history.LaneReused), 50, 6 * time.Second, 5 * time.Second, time.Minute, []string{"No kept connection is idle for longer than 2s"}},
		"beside HTTP/2":    {idleProbe(2*time.Second, 0, load.LaneH2C, history.LaneReused), 50, 6 * time.Second, 5 * time.Second, time.Minute, []string{"No kept connection is idle for longer than 2s"}},
		"longest and rare": {idleProbe(time.Minute, 0), 128.0 / 60, 150 * time.Second, 90 * time.Second, 289 * time.Second, []string{"Nothing is promised of how long", "No kept connection is idle for longer than 1m0s", "The kept connections of probe web send 2.13 requests"}},
	} {
		t.Run(name, func(t *testing.T) {
			a, _ := read(t, manifests)
			s := only(t, apptest.Test{App: a, Probes: []apptest.Probe{test.probe}, Faults: []string{"delete-pod"}})
			kept := s.Load[len(s.Load)-2]
			if kept.Rate != test.rate || kept.Idle != test.probe.Idle || kept.Connections != 0 {
				t.Errorf("kept lane %+v, want rate %v", kept, test.rate)
			}
			for _, l := range s.Load[:len(s.Load)-2] {
				if l.Idle != 0 || test.probe.Rate == 0 && l.Rate != apptest.DefaultRate {
					t.Errorf("another lane is idle, or slower: %+v", l)
				}
			}
			if s.Steady != test.steady || s.Recovered != test.recovered || s.About != test.about {
				t.Errorf("steady %s, recovered %s, about %s", s.Steady, s.Recovered, s.About)
			}
			if len(s.Notes) != len(test.notes) {
				t.Fatalf("notes %q, want %q", s.Notes, test.notes)
			}
			for i, want := range test.notes {
				if !strings.HasPrefix(s.Notes[i], want) {
					t.Errorf("note %q, want %q", s.Notes[i], want)
				}
			}
			if err := (load.Plan{ID: "p", Lanes: s.Load}).Validate(); err != nil {
				t.Error(err)
			}
		})
	}
	for want, p := range map[string]apptest.Probe{
		`probe web: idle: lanes ["fresh"] have no connections that are idle`:           idleProbe(time.Second, 0, history.LaneFresh),
		`probe web: idle: lanes ["h2c"] have no connections that are idle`:             idleProbe(time.Second, 0, load.LaneH2C),
		"probe web: idle 1m1s: want a duration above 0s and at most 1m0s":              idleProbe(61*time.Second, 0),
		`probe web: idle: lanes ["h2c" "h2c-fresh"] have no connections that are idle`: func() apptest.Probe { p := apptest.OfHealth("http://web", "", 0); p.Idle = time.Second; return p }(),
	} {
		a, _ := read(t, manifests)
		if _, _, err := (apptest.Test{App: a, Probes: []apptest.Probe{p}}).Scenarios(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
