package patrol

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/patrol/patroltest"
	"github.com/holdfast-ha/holdfast/workloads"
)

// unbudgeted has one fault: nothing covers it.
var unbudgeted = workloads.Backend{Budget: workloads.NoBudget}

// watching is a patrol of a cluster, which has not looked yet.
func watching(c *patroltest.Cluster) *Patrol {
	return New(Options{Reader: c.Client, Every: time.Minute, MostSeries: MostSeries, Version: "v1.2.3"})
}

// get asks the patrol as a client does.
func get(t *testing.T, p *Patrol, path string) (status int, body string) {
	t.Helper()
	w := httptest.NewRecorder()
	p.handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
	return w.Code, w.Body.String()
}

// series are the patrol's own metrics whose names begin so, but for those that have times.
func series(t *testing.T, p *Patrol, begin string) (all []string) {
	t.Helper()
	status, body := get(t, p, "/metrics")
	if status != http.StatusOK {
		t.Fatalf("/metrics: %d\n%s", status, body)
	}
	for line := range strings.SplitSeq(body, "\n") {
		if strings.HasPrefix(line, "holdfast_"+begin) && !strings.Contains(line, "_seconds") {
			all = append(all, strings.TrimPrefix(line, "holdfast_"))
		}
	}
	return all
}

func TestMetrics(t *testing.T) {
	c := patroltest.New(t)
	c.Deploy("good", workloads.Backend{}, patroltest.Spread...)
	c.Deploy("bad", unbudgeted, "a1", "a1", "a2", "b1")
	c.Stuck("bad", time.Now().Add(-time.Hour), "0/6 nodes are available: 6 node(s) didn't match pod topology spread constraints.")
	p := watching(c)
	p.round(t.Context())
	want := []string{
		`audit_build_info{version="v1.2.3"} 1`,
		`audit_findings{rule="no-budget",severity="warning"} 1`,
		`audit_findings{rule="pending-on-hard-constraint",severity="error"} 1`,
		`audit_findings{rule="soft-constraint-violated",severity="warning"} 1`,
		`audit_omitted_series 0`,
		`audit_rounds_total{result="failure"} 0`,
		`audit_rounds_total{result="success"} 1`,
		`audit_workloads 2`,
		`workload_constrained_pending_pods{kind="Deployment",namespace="shop",workload="bad"} 1`,
		`workload_finding{kind="Deployment",namespace="shop",rule="no-budget",severity="warning",workload="bad"} 1`,
		`workload_finding{kind="Deployment",namespace="shop",rule="pending-on-hard-constraint",severity="error",workload="bad"} 1`,
		`workload_finding{kind="Deployment",namespace="shop",rule="soft-constraint-violated",severity="warning",workload="bad"} 1`,
		`workload_skew{constraint="hard",kind="Deployment",namespace="shop",topology_key="topology.kubernetes.io/zone",workload="bad"} 3`,
		`workload_skew{constraint="hard",kind="Deployment",namespace="shop",topology_key="topology.kubernetes.io/zone",workload="good"} 0`,
		`workload_skew{constraint="soft",kind="Deployment",namespace="shop",topology_key="kubernetes.io/hostname",workload="bad"} 2`,
		`workload_skew{constraint="soft",kind="Deployment",namespace="shop",topology_key="kubernetes.io/hostname",workload="good"} 0`,
		`workload_skew_limit{constraint="hard",kind="Deployment",namespace="shop",topology_key="topology.kubernetes.io/zone",workload="bad"} 1`,
		`workload_skew_limit{constraint="hard",kind="Deployment",namespace="shop",topology_key="topology.kubernetes.io/zone",workload="good"} 1`,
		`workload_skew_limit{constraint="soft",kind="Deployment",namespace="shop",topology_key="kubernetes.io/hostname",workload="bad"} 1`,
		`workload_skew_limit{constraint="soft",kind="Deployment",namespace="shop",topology_key="kubernetes.io/hostname",workload="good"} 1`,
	}
	if diff := cmp.Diff(want, series(t, p, "")); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

// The series of a workload end with it: nothing is kept from the round before.
func TestSeriesEnd(t *testing.T) {
	c := patroltest.New(t)
	c.Deploy("bad", unbudgeted, patroltest.Spread...)
	p := watching(c)
	p.round(t.Context())
	if len(series(t, p, "workload_")) == 0 {
		t.Fatal("no series of a workload that is there")
	}
	c.Remove("bad")
	p.round(t.Context())
	if left := series(t, p, "workload_"); len(left) > 0 {
		t.Errorf("of a workload that is gone: %v", left)
	}
}

// A metric that is 0 would say that nothing is wrong.
func TestBeforeTheFirstReadingNothingIsSaid(t *testing.T) {
	c := patroltest.New(t)
	p := watching(c)
	known := func() (all []string) {
		return slices.Concat(series(t, p, "workload_"), series(t, p, "audit_findings"), series(t, p, "audit_workloads"))
	}
	if status, body := get(t, p, "/readyz"); status != http.StatusServiceUnavailable || len(known()) > 0 {
		t.Errorf("before it has looked: %d %s, %v", status, body, known())
	}
	c.Away()
	p.round(t.Context())
	if status, body := get(t, p, "/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, "connection refused") || len(known()) > 0 {
		t.Errorf("when it cannot: %d %s, %v", status, body, known())
	}
	if _, body := get(t, p, "/metrics"); strings.Contains(body, "holdfast_audit_last_success") {
		t.Error("it says when it last succeeded, and it never did")
	}
	c.Allow()
	p.round(t.Context())
	if status, body := get(t, p, "/readyz"); status != http.StatusOK {
		t.Errorf("when it has looked: %d %s", status, body)
	}
}

// The adversary: a patrol that loses its sight must not make a finding look mended.
func TestWhatIsNotSeenAnyMoreIsNotMended(t *testing.T) {
	stuck := func(c *patroltest.Cluster) {
		c.Stuck("bad", time.Now().Add(-time.Hour), "0/6 nodes are available: 6 node(s) didn't match pod topology spread constraints.")
	}
	for name, test := range map[string]struct {
		blind         func(*patroltest.Cluster)
		still, ending []string // parts of series that must be there, and must not
	}{
		"no pods": {func(c *patroltest.Cluster) { c.Forbid("pods") }, []string{"no-budget", "pending-on-hard", "constrained_pending_pods", "soft-constraint"}, nil},
		"no ReplicaSets, so no pods of Deployments": {
			func(c *patroltest.Cluster) { c.Forbid("replicasets") }, []string{"no-budget", "pending-on-hard", "constrained_pending_pods"}, nil,
		},
		"no Deployments": {func(c *patroltest.Cluster) { c.Forbid("deployments") }, []string{"no-budget", "pending-on-hard", "constrained_pending_pods"}, nil},
		"no budgets":     {func(c *patroltest.Cluster) { c.Forbid("poddisruptionbudgets") }, []string{"no-budget", "pending-on-hard"}, nil},
		"no cluster":     {func(c *patroltest.Cluster) { c.Away() }, []string{"no-budget", "pending-on-hard", "constrained_pending_pods"}, nil},
		"no pods, and the workload is gone": {
			func(c *patroltest.Cluster) { c.Remove("bad"); c.Forbid("pods") }, nil, []string{"bad"},
		},
		"no pods, and what does not need them is mended": {func(c *patroltest.Cluster) {
			c.Remove("bad")
			c.Deploy("bad", workloads.Backend{}, "a1", "a1", "a2", "b1")
			c.Forbid("pods")
		}, []string{"pending-on-hard"}, []string{"no-budget"}},
		"nothing is lost": {func(c *patroltest.Cluster) { c.Place("bad", patroltest.Spread...) }, []string{"no-budget"}, []string{"pending", "soft-constraint"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := patroltest.New(t)
			c.Deploy("bad", unbudgeted, "a1", "a1", "a2", "b1")
			stuck(c)
			p := watching(c)
			p.round(t.Context())
			test.blind(c)
			for range 3 { // not only in the first round that sees nothing
				p.round(t.Context())
			}
			now := strings.Join(series(t, p, "workload_"), "\n")
			for _, part := range test.still {
				if !strings.Contains(now, part) {
					t.Errorf("%s has ended:\n%s", part, now)
				}
			}
			for _, part := range test.ending {
				if strings.Contains(now, part) {
					t.Errorf("%s is still there:\n%s", part, now)
				}
			}
			c.Allow()
			p.round(t.Context())
			if blind := series(t, p, "audit_not_checked"); len(blind) > 0 {
				t.Errorf("it sees again, and says %v", blind)
			}
		})
	}
}

// What cannot be read is told by rule, and the time of the last reading that succeeded stands still while none does.
func TestBlindness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := patroltest.New(t)
		c.Deploy("good", workloads.Backend{}, patroltest.Spread...)
		p := watching(c)
		p.round(t.Context())
		first := p.now.Load().taken
		c.Forbid("poddisruptionbudgets")
		time.Sleep(time.Minute)
		p.round(t.Context())
		var want []string
		for _, rule := range []string{"budget-blocks-drains", "budget-covers-nothing", "no-budget", "unhealthy-pods-block-drains"} {
			want = append(want, `audit_not_checked{reason="unread",rule="`+rule+`"} 1`)
		}
		if diff := cmp.Diff(want, series(t, p, "audit_not_checked")); diff != "" {
			t.Errorf("not checked (-want +got):\n%s", diff)
		}
		if now := p.now.Load().taken; now.Sub(first) != time.Minute {
			t.Errorf("a reading without the budgets is from %s later", now.Sub(first))
		}
		c.Away()
		time.Sleep(time.Hour)
		p.round(t.Context())
		if now := p.now.Load().taken; now.Sub(first) != time.Minute {
			t.Errorf("while the cluster is away, the last success is from %s later", now.Sub(first))
		}
		if got := series(t, p, `audit_rounds_total{result="failure"}`); len(got) != 1 || !strings.HasSuffix(got[0], " 1") {
			t.Errorf("failures: %v", got)
		}
	})
}

// However many workloads there are, their series are limited; what alerts need comes first, and the rest is counted.
func TestSeriesAreBounded(t *testing.T) {
	c := patroltest.New(t)
	for _, name := range []string{"one", "two", "three", "four"} {
		c.Deploy(name, unbudgeted, patroltest.Spread...)
	}
	p := watching(c)
	p.round(t.Context())
	all := len(series(t, p, "workload_"))
	for _, most := range []int{0, 1, 5, all - 1, all, all + 1} {
		p.o.MostSeries = most
		now := series(t, p, "workload_")
		omitted := series(t, p, "audit_omitted_series")
		if len(now) != min(most, all) || omitted[0] != "audit_omitted_series "+strconv.Itoa(max(all-most, 0)) {
			t.Errorf("at most %d: %d series, and %v", most, len(now), omitted)
		}
		findings := len(series(t, p, "workload_finding"))
		if want := min(most, 4); findings != want {
			t.Errorf("at most %d: %d of them are findings, want %d", most, findings, want)
		}
		if totals := series(t, p, "audit_findings"); len(totals) != 1 || !strings.HasSuffix(totals[0], " 4") {
			t.Errorf("at most %d: the total is %v", most, totals)
		}
	}
}

// Without an announcer, nothing but get and list is sent, whatever is found.
func TestAPatrolOnlyReads(t *testing.T) {
	c := patroltest.New(t)
	c.Deploy("bad", unbudgeted, "a1", "a1")
	c.Client.ClearActions()
	p := watching(c)
	p.round(t.Context())
	if len(p.now.Load().findings) == 0 || len(c.Client.Actions()) == 0 {
		t.Fatal("nothing was found, or nothing was read")
	}
	for _, a := range c.Client.Actions() {
		if verb := a.GetVerb(); verb != "get" && verb != "list" {
			t.Errorf("%s %s", verb, a.GetResource().Resource)
		}
	}
}

// Rounds begin once per interval, whether or not they succeed, and end with the context.
func TestRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := patroltest.New(t)
		p := watching(c)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			p.rounds(ctx)
			close(ended)
		}()
		time.Sleep(10*time.Minute + time.Second)
		c.Away()
		time.Sleep(5 * time.Minute)
		s := p.now.Load()
		if s.successes != 11 || s.failures != 5 {
			t.Errorf("in a quarter of an hour %d readings succeeded and %d failed, want 11 and 5", s.successes, s.failures)
		}
		cancel()
		<-ended
		if now := p.now.Load(); now != s {
			t.Errorf("it looked again although it was told to end")
		}
	})
}

// A loop that no longer turns is told by the liveness probe; a cluster that is away is not.
func TestAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := patroltest.New(t)
		c.Away()
		p := watching(c)
		for range 100 {
			p.round(t.Context())
			time.Sleep(time.Minute)
			if status, body := get(t, p, "/healthz"); status != http.StatusOK {
				t.Fatalf("while the cluster is away: %d %s", status, body)
			}
		}
		time.Sleep(p.stuck())
		if status, body := get(t, p, "/healthz"); status != http.StatusServiceUnavailable || !strings.Contains(body, "no reading of the cluster has ended since") {
			t.Errorf("when no round ends: %d %s", status, body)
		}
	})
}
