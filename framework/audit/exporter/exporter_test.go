package exporter

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/workloads"
)

// unbudgeted has one fault: no budget covers it.
var unbudgeted = workloads.Backend{Budget: workloads.NoBudget}

const noNode = "0/6 nodes are available: 6 node(s) didn't match pod topology spread constraints."

// watching is an exporter of a cluster that has read nothing yet.
func watching(c *fakeCluster) *Exporter {
	return New(Options{Client: c.client, Every: time.Minute, Version: "v1.2.3"})
}

func get(t *testing.T, e *Exporter, path string) (status int, body string) {
	t.Helper()
	w := httptest.NewRecorder()
	e.handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
	return w.Code, w.Body.String()
}

// series are the exporter's own metrics with a prefix, except those whose values are times.
func series(t *testing.T, e *Exporter, prefix string) (all []string) {
	t.Helper()
	status, body := get(t, e, "/metrics")
	if status != http.StatusOK {
		t.Fatalf("/metrics: %d\n%s", status, body)
	}
	for line := range strings.SplitSeq(body, "\n") {
		if strings.HasPrefix(line, "holdfast_"+prefix) && !strings.Contains(line, "_seconds") {
			all = append(all, strings.TrimPrefix(line, "holdfast_"))
		}
	}
	return all
}

func TestMetrics(t *testing.T) {
	c := newCluster(t)
	c.deploy("good", workloads.Backend{}, spread...)
	c.deploy("bad", unbudgeted, "a1", "a1", "a2", "b1")
	c.stuck("bad", time.Now().Add(-time.Hour), noNode)
	e := watching(c)
	e.read(t.Context())
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
	if diff := cmp.Diff(want, series(t, e, "")); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

// What an exporter cannot see any more must not look as if it were fixed.
func TestWhatIsNotSeenIsKept(t *testing.T) {
	for _, test := range []struct {
		name          string
		change        func(*fakeCluster)
		still, ending string // parts of series that must be there, and that must not
	}{
		{"no pods", func(c *fakeCluster) { c.forbid("pods") }, "no-budget pending-on-hard constrained_pending_pods soft-constraint", ""},
		{"no ReplicaSets", func(c *fakeCluster) { c.forbid("replicasets") }, "no-budget pending-on-hard constrained_pending_pods", ""},
		{"no Deployments", func(c *fakeCluster) { c.forbid("deployments") }, "no-budget pending-on-hard constrained_pending_pods", ""},
		{"no budgets", func(c *fakeCluster) { c.forbid("poddisruptionbudgets") }, "no-budget pending-on-hard", ""},
		{"no cluster", (*fakeCluster).away, "no-budget pending-on-hard constrained_pending_pods", ""},
		{"no pods, and the workload is gone", func(c *fakeCluster) { c.remove("bad"); c.forbid("pods") }, "", "bad"},
		{"no pods, and what does not need them is fixed", func(c *fakeCluster) {
			c.remove("bad")
			c.deploy("bad", workloads.Backend{}, "a1", "a1", "a2", "b1")
			c.forbid("pods")
		}, "pending-on-hard", "no-budget"},
		{"the pods are placed again", func(c *fakeCluster) { c.place("bad", spread...) }, "no-budget", "pending soft-constraint"},
		{"the workload is gone", func(c *fakeCluster) { c.remove("bad") }, "", "workload_"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t)
			c.deploy("bad", unbudgeted, "a1", "a1", "a2", "b1")
			c.stuck("bad", time.Now().Add(-time.Hour), noNode)
			e := watching(c)
			e.read(t.Context())
			test.change(c)
			for range 3 { // not only in the first reading
				e.read(t.Context())
			}
			now := strings.Join(series(t, e, "workload_"), "\n")
			for part := range strings.FieldsSeq(test.still) {
				if !strings.Contains(now, part) {
					t.Errorf("%s has ended:\n%s", part, now)
				}
			}
			for part := range strings.FieldsSeq(test.ending) {
				if strings.Contains(now, part) {
					t.Errorf("%s is still there:\n%s", part, now)
				}
			}
			c.allow()
			e.read(t.Context())
			if blind := series(t, e, "audit_not_checked"); len(blind) > 0 {
				t.Errorf("it can read again, and shows %v", blind)
			}
		})
	}
}

// A metric that is 0 would mean that nothing is wrong, so there is none until the cluster was read. Readings go on while the cluster is
// away, and the liveness probe fails only when none ends.
func TestReadings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.away()
		e := watching(c)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go e.readRepeatedly(ctx)
		time.Sleep(5*time.Minute - time.Second)
		if _, body := get(t, e, "/metrics"); strings.Contains(body, "holdfast_audit_last_success") || len(series(t, e, "audit_workloads")) > 0 {
			t.Errorf("before the first reading that succeeded:\n%s", body)
		}
		c.allow()
		c.forbid("poddisruptionbudgets")
		time.Sleep(5 * time.Minute)
		var want []string
		for _, rule := range []string{"budget-blocks-drains", "budget-covers-nothing", "no-budget", "unhealthy-pods-block-drains"} {
			want = append(want, `audit_not_checked{reason="unread",rule="`+rule+`"} 1`)
		}
		if diff := cmp.Diff(want, series(t, e, "audit_not_checked")); diff != "" {
			t.Errorf("not checked (-want +got):\n%s", diff)
		}
		if r := e.now.Load(); r.successes != 5 || r.failures != 5 || time.Since(r.taken) > time.Minute {
			t.Errorf("%d readings succeeded and %d failed, want 5 and 5; the last success is from %s", r.successes, r.failures, r.taken)
		}
		cancel()
		synctest.Wait()
		if status, body := get(t, e, "/healthz"); status != http.StatusOK {
			t.Errorf("/healthz: %d %s", status, body)
		}
		time.Sleep(e.o.Every + 2*readLimit)
		if status, body := get(t, e, "/healthz"); status != http.StatusServiceUnavailable {
			t.Errorf("/healthz when no reading ends: %d %s", status, body)
		}
	})
}

// However many workloads there are, their series are limited. Those that alerts use come first, and the others are counted.
func TestSeriesAreLimited(t *testing.T) {
	c := newCluster(t)
	for _, name := range []string{"one", "two", "three", "four"} {
		c.deploy(name, unbudgeted, spread...)
	}
	e := watching(c)
	e.read(t.Context())
	all := len(series(t, e, "workload_"))
	for _, most := range []int{0, 1, 5, all - 1, all, all + 1} {
		e.series = most
		omitted := series(t, e, "audit_omitted_series")[0]
		if n := len(series(t, e, "workload_")); n != min(most, all) || omitted != "audit_omitted_series "+strconv.Itoa(max(all-most, 0)) {
			t.Errorf("at most %d: %d series, and %v", most, n, omitted)
		}
		if n := len(series(t, e, "workload_finding")); n != min(most, 4) {
			t.Errorf("at most %d: %d of them are findings", most, n)
		}
	}
}
