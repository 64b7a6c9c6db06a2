package recording

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/load/collect"
)

// shop is a server outside of the cluster in memory, at which Service web takes its requests.
func (s *staging) shop(t *testing.T, answer http.HandlerFunc) (url string) {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	host, port, _ := strings.Cut(strings.TrimPrefix(server.URL, "http://"), ":")
	err := s.change(func(c kubernetes.Interface) error {
		web := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"}}
		web.Spec.ExternalIPs, web.Spec.Ports = []string{host}, []corev1.ServicePort{{Port: portOf(port)}}
		_, err := c.CoreV1().Services("shop").Create(t.Context(), web, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return server.URL
}

func portOf(text string) (n int32) {
	for _, c := range text {
		n = 10*n + c - '0'
	}
	return n
}

// Requests flow from where holdfast runs, ten a second, and say whose they are.
func TestLoadFromOutside(t *testing.T) {
	s := newStaging(t)
	var asked, unmarked atomic.Int64
	url := s.shop(t, func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.Header.Get(RunHeader) != "r1" || r.UserAgent() != "holdfast/v0" || r.Method != http.MethodGet {
			unmarked.Add(1)
		}
	})
	o, lines := s.options(t)
	o.Before, o.Probes, o.Settled = 2*time.Second, []apptest.Probe{apptest.OfURL(url, 0)}, time.Second
	if _, err := Record(t.Context(), o, Wait(time.Second)); err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(lines.lines, "\n"))
	}
	run := recorded(t, o)
	if unmarked.Load() > 0 || asked.Load() < 40 || asked.Load() > 200 { // two lanes, for four seconds or somewhat longer
		t.Errorf("%d requests, %d of them unmarked", asked.Load(), unmarked.Load())
	}
	if !lines.has("sending 20 requests a second from outside, on 2 lanes") {
		t.Errorf("said %q", lines.lines)
	}
	rows := 0
	for r, err := range run.Requests() {
		if err != nil {
			t.Fatal(err)
		}
		if r.Lane == history.LaneControl {
			continue
		}
		if rows++; r.Outcome.Failed() || r.Worker != "outside" {
			t.Errorf("%+v", r)
		}
	}
	if rows != int(asked.Load()) {
		t.Errorf("%d rows of %d requests", rows, asked.Load())
	}
	h := run.Header
	if h.Recorded.Load != history.LoadOutside || len(h.Recorded.Services) != 1 || h.Recorded.Services[0] != "shop/web" || len(h.Plan.Lanes) != 3 ||
		h.Plan.Lanes[0].RatePerSecond != Rate || h.Plan.Lanes[0].Front == nil || h.Plan.Lanes[0].Front.Backends[0] != "web" || h.Promises[0].Kind != "NoFailedRequests" {
		t.Errorf("header %+v, plan %+v", h.Recorded, h.Plan)
	}
}

// Rule 19: a server that has enough is left alone, and the record says that the load ended.
func TestLoadYields(t *testing.T) {
	s := newStaging(t)
	var asked atomic.Int64
	url := s.shop(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) >= 30 {
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	o, lines := s.options(t)
	o.Before, o.Probes, o.Settled = time.Second, []apptest.Probe{apptest.OfURL(url, 0)}, time.Second
	if _, err := Record(t.Context(), o, func(ctx context.Context, _ *Session) error { return poll.Pass(ctx, 4*time.Second) }); err != nil {
		t.Fatal(err)
	}
	if n := asked.Load(); n > 35 { // those that were on the way
		t.Errorf("%d requests", n)
	}
	if !lines.has("status 429") {
		t.Errorf("said %q", lines.lines)
	}
	troubled := false
	for _, e := range recorded(t, o).Events {
		troubled = troubled || e.Trouble != nil && strings.Contains(e.Trouble.What, "status 429")
	}
	if !troubled {
		t.Error("the record does not say that the load stopped")
	}
}

// A load that has lasted as long as one may did not yield to a server, and one that no harness asked about was not refused.
func TestWhyALoadEnds(t *testing.T) {
	for _, test := range []struct {
		totals collect.Totals
		now    time.Duration
		want   string
	}{
		{collect.Totals{Yielded: true}, time.Second, "status 429"},
		{collect.Totals{Untended: true, Finished: true}, time.Second, "for 1m0s, no load worker could be asked"},
		{collect.Totals{}, time.Hour, ""},
		{collect.Totals{Finished: true}, time.Hour, "the longest time"},
		{collect.Totals{Finished: true}, time.Hour - 1, "do not say why"},
	} {
		why := whyEnded(test.totals, test.now, time.Hour)
		if !strings.Contains(why, test.want) || (why == "") != (test.want == "") {
			t.Errorf("%+v after %s: %q, want %q", test.totals, test.now, why, test.want)
		}
	}
}

// Where requests fail before anything is done, the command is not run: it would show nothing, and make things worse.
func TestNothingIsDoneToWhatIsBroken(t *testing.T) {
	s := newStaging(t)
	url := s.shop(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	o, _ := s.options(t)
	o.Before, o.Probes, o.Command = 3*time.Second, []apptest.Probe{apptest.OfURL(url, 0)}, []string{"kubectl"}
	ran := false
	file, err := Record(t.Context(), o, func(context.Context, *Session) error { ran = true; return nil })
	if err == nil || !strings.Contains(err.Error(), "before anything was done") || ran || file.Scenarios[0].Error == "" {
		t.Errorf("ran %t, %v, %+v", ran, err, file.Scenarios)
	}
}

// A Service that is misspelt, or whose namespace is not recorded, is refused at once. Its requests would show nothing.
func TestAServiceThatIsNotThere(t *testing.T) {
	s := newStaging(t)
	url := s.shop(t, func(http.ResponseWriter, *http.Request) {})
	for service, want := range map[string]string{"shop/wbe": "look at Service shop/wbe", "other/web": "its namespace is not recorded", "shop/web": ""} {
		o, _ := s.options(t)
		o.Before, o.Settled, o.Probes, o.Behind = time.Second, time.Second, []apptest.Probe{apptest.OfURL(url, 0)}, []string{service}
		ran := false
		_, err := Record(t.Context(), o, func(context.Context, *Session) error { ran = true; return nil })
		if ran != (want == "") || (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: ran %t, %v; want %q", service, ran, err, want)
		}
	}
}

// TestWhatConfinesAClientIsSaidOfAnyWay: also where the user names the Services.
func TestWhatConfinesAClientIsSaidOfAnyWay(t *testing.T) {
	s := newStaging(t)
	url := s.shop(t, func(http.ResponseWriter, *http.Request) {})
	for _, test := range []struct {
		behind, edited, want string
		edit                 func(*corev1.ServiceSpec)
	}{
		{"shop/web", "web", "externalTrafficPolicy Local of Service web", func(s *corev1.ServiceSpec) { s.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal }},
		{"shop/api", "web", "externalTrafficPolicy Local of Service web", func(*corev1.ServiceSpec) {}},
		{"shop/api", "web", "", func(s *corev1.ServiceSpec) { s.ExternalTrafficPolicy = "" }},
		{"shop/api", "web", "sessionAffinity ClientIP of Service web", func(s *corev1.ServiceSpec) { s.SessionAffinity = corev1.ServiceAffinityClientIP }},
		{"", "web", "sessionAffinity ClientIP of Service web", func(*corev1.ServiceSpec) {}},
	} {
		err := s.change(func(c kubernetes.Interface) error {
			_, _ = c.CoreV1().Services("shop").Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "api", Namespace: "shop"}}, metav1.CreateOptions{})
			is, err := c.CoreV1().Services("shop").Get(t.Context(), test.edited, metav1.GetOptions{})
			if err == nil {
				test.edit(&is.Spec)
				_, err = c.CoreV1().Services("shop").Update(t.Context(), is, metav1.UpdateOptions{})
			}
			return err
		})
		o, _ := s.options(t)
		o.Before, o.Settled, o.Probes = time.Second, time.Second, []apptest.Probe{apptest.OfURL(url, 0)}
		if test.behind != "" {
			o.Behind = []string{test.behind}
		}
		if _, recordErr := Record(t.Context(), o, func(context.Context, *Session) error { return nil }); err != nil || recordErr != nil {
			t.Fatal(err, recordErr)
		}
		if front := recorded(t, o).Header.Plan.Lanes[0].Front; front == nil || front.Sticky != test.want {
			t.Errorf("behind %q: %+v, want %q", test.behind, front, test.want)
		}
	}
}

// What a probe says is behind a proxy is in the namespace of the proxy, or, where the proxy is not found, in that which is recorded.
func TestFurtherBehind(t *testing.T) {
	p := apptest.Probe{Behind: []string{"app", "proxy"}}
	o := Options{Namespaces: []string{"shop"}}
	if got := strings.Join(o.furtherBehind(p, []string{"a/proxy", "b/proxy"}), " "); got != "a/app b/app" {
		t.Errorf("got %s", got)
	}
	if got := strings.Join(o.furtherBehind(p, nil), " "); got != "shop/app shop/proxy" {
		t.Errorf("no proxy was found: got %s", got)
	}
}

// Load from both places has lanes of its own for each, whose difference is the front door's.
func TestLoadFromBothPlaces(t *testing.T) {
	o := Options{Probes: []apptest.Probe{apptest.OfURL("http://web.shop/", 0), apptest.OfURL("tcp://db.shop:5432", 1)}, From: history.LoadBoth, Run: Run{ID: "r1"}}
	lanes := map[history.LoadFrom][]string{}
	for _, p := range o.sent() {
		for _, l := range p.lanes {
			lanes[p.from] = append(lanes[p.from], string(l.Lane))
			if err := (load.Plan{ID: "p", Lanes: []load.Lane{l}}).Validate(); err != nil {
				t.Error(err)
			}
		}
	}
	if got, want := strings.Join(lanes[history.LoadOutside], " "), "fresh@web reused@web tcp@db-2"; got != want {
		t.Errorf("outside %s, want %s", got, want)
	}
	if got, want := strings.Join(lanes[history.LoadInside], " "), "fresh@web-inside reused@web-inside tcp@db-2-inside"; got != want {
		t.Errorf("inside %s, want %s", got, want)
	}
}

// What is planned must fail no request, and what is lost may fail its share. Of a recording the record tells what is which. A file
// promises more, or less, of each place that its probes are sent from.
func TestPromisesOfRequests(t *testing.T) {
	web, cart := apptest.OfURL("http://web.shop/", 0), apptest.OfURL("http://cart.shop/", 1)
	web.Name, cart.Name = "web", "cart"
	few := apptest.Promise{Failed: apptest.Allowance{AtMost: 3}, EndsWithin: 20 * time.Second}
	const rest = " BudgetHonoured RecoversWithin Placement SpreadWithin"
	for name, test := range map[string]struct {
		o     Options
		want  string
		notes int
	}{
		"a recording": {Options{}, "NoFailedRequests{} FailuresEndWithin{}" + rest, 0},
		"planned":     {Options{Class: apptest.Voluntary}, "NoFailedRequests{}" + rest, 0},
		"lost":        {Options{Class: apptest.Involuntary}, "FailuresEndWithin{}" + rest, 0},
		"fewer, by a file": {Options{Class: apptest.Voluntary, Promised: apptest.Promises{Each: few}, Probes: []apptest.Probe{web}},
			`FewFailedRequests{"atMost":3,"by":"holdfast.yaml"}` + rest, 1},
		"sooner, by a file": {Options{Class: apptest.Involuntary, Promised: apptest.Promises{Each: few}}, `FailuresEndWithin{"limit":20000000000}` + rest, 1},
		"faster, by a file": {Options{Class: apptest.Voluntary, Promised: apptest.Promises{Each: apptest.Promise{SlowerBy: time.Second}}},
			`NoFailedRequests{} AnswersWithin{"slowest":1000000000,"p99":1000000000,"foreign":true}` + rest, 0},
		"of one probe, from both places": {Options{Class: apptest.Voluntary, From: history.LoadBoth, Promised: apptest.Promises{Of: map[string]apptest.Promise{"cart": few}}, Probes: []apptest.Probe{web, cart}},
			`NoFailedRequests{"lanes":["fresh@web","reused@web","fresh@web-inside","reused@web-inside"]}` +
				` FewFailedRequests{"lanes":["fresh@cart","reused@cart"],"atMost":3,"by":"holdfast.yaml"}` +
				` FewFailedRequests{"lanes":["fresh@cart-inside","reused@cart-inside"],"atMost":3,"by":"holdfast.yaml"}` + rest, 2},
	} {
		o := test.o
		if o.Probes == nil {
			o.Probes = []apptest.Probe{web, cart}
		}
		var made []string
		for _, p := range o.promises() {
			words := invariant.Kind(p)
			if _, about := p.(invariant.RequestInvariant); about {
				stored, err := invariant.Encode(p)
				if err != nil {
					t.Fatal(err)
				}
				words += string(stored.Params)
			}
			made = append(made, words)
		}
		if got := strings.Join(made, " "); got != test.want {
			t.Errorf("%s:\n%s, want\n%s", name, got, test.want)
		}
		if _, notes := o.ofRequests(); len(notes) != test.notes {
			t.Errorf("%s: notes %q", name, notes)
		}
	}
}

// What only a cluster of holdfast's own has is refused, and not asked in another way.
func TestCheckProbes(t *testing.T) {
	p := apptest.OfURL("http://web/", 0)
	if err := CheckProbes([]apptest.Probe{p}); err != nil {
		t.Error(err)
	}
	p.Outside = true
	const want = "probe web: from: outside is for a cluster that holdfast makes: give the URL that clients outside of yours have"
	if err := CheckProbes([]apptest.Probe{p}); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}
