package audit

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/holdfast-ha/holdfast/workloads"
)

func TestSkews(t *testing.T) {
	var text strings.Builder
	for _, r := range []row{
		is("good practice, evenly", "", good),
		is("a soft constraint, unevenly", "exceeded", spread(softZone), on("a1", "a2", "a1", "a2", "b1", "b1")),
		is("a soft constraint, evenly", "", spread(softZone), on("a1", "b1", "c1")),
		is("a soft constraint, less evenly than allowed", "exceeded", spread(softZone), on("a1", "a1", "b1", "c1")),
		is("no constraint", "", unspread, on("a1", "a1", "b1")),
		is("an empty node that takes no pods does not count", "", unspread, cordoned("c2"), on("a1", "a2", "b1", "b2", "c1")),
		is("a node with pods counts, although it takes no more", "", unspread, cordoned("c2"), on("c2")),
		is("a constraint that counts other pods is not its own", "", spread(workloads.Spread{Key: workloads.Zone, Unsatisfiable: corev1.ScheduleAnyway, Selector: others}), on("a1", "b1", "c1")),
		is("a StatefulSet", "", workloads.Backend{Replicas: 3}, asSet),
	} {
		w := newWorld(t, r.backend, r.changes...)
		fmt.Fprintf(&text, "\n%s\n", r.name)
		c, exceeded := w.read(), false
		for _, k := range Skews(c) {
			exceeded = exceeded || k.exceeded()
			fmt.Fprintf(&text, "  %s %s: skew %d, allowed %d\n", k.TopologyKey, k.Constraint, k.Skew, k.Allowed)
		}
		violated := slices.ContainsFunc(Audit(c, Options{}).Findings, func(f Finding) bool { return f.Rule == "soft-constraint-violated" })
		if exceeded != (r.want == "exceeded") || exceeded != violated {
			t.Errorf("%s: exceeded %t; the rule finds it: %t", r.name, exceeded, violated)
		}
		for _, resource := range []Resource{Pods, Nodes, ReplicaSets} { // a number would be wrong
			blind := c
			blind.Unread = []Unread{{Resource: resource}}
			if r.name == "no constraint" && len(Skews(blind))+len(PendingOnConstraints(blind)) > 0 {
				t.Errorf("without %s there are skews", resource)
			}
		}
	}
	golden(t, "skews.txt", []byte(text.String()))
}

// Those pods count as pending that a hard constraint keeps Pending, by the message about each of them.
func TestPendingOnConstraints(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	const spread, full = "0/8 nodes are available: 8 node(s) didn't match pod topology spread constraints.", "0/8 nodes are available: 8 Insufficient cpu."
	pod := func(since time.Duration, said string) Pod { return Pod{Unschedulable: now.Add(-since), Said: said} }
	going := pod(time.Hour, spread)
	going.Going = true
	for _, test := range []struct {
		name    string
		pods    []Pod
		pending int
		since   time.Duration
		found   bool
	}{
		{"long enough", []Pod{pod(PendingLimit+time.Second, spread)}, 1, PendingLimit + time.Second, true},
		{"not yet", []Pod{pod(PendingLimit, spread)}, 1, PendingLimit, false},
		{"by a scheduler whose clock is fast", []Pod{pod(-time.Minute, spread)}, 1, -time.Minute, false},
		{"going", []Pod{going}, 0, 0, false},
		{"for want of room", []Pod{pod(time.Hour, full)}, 0, 0, false},
		{"kept away by others", []Pod{pod(time.Hour, "0/8 nodes are available: 8 node(s) didn't satisfy existing pods anti-affinity rules.")}, 1, time.Hour, true},
		{"several", []Pod{{Node: "a1"}, pod(time.Hour, full), pod(time.Second, spread), pod(time.Minute, spread), going}, 2, time.Minute, false},
	} {
		c := Cluster{Taken: now, Workloads: []Workload{{Kind: Deployment, Namespace: shop, Name: "web", Replicas: 4, Pods: test.pods}}}
		for _, n := range fleet() {
			c.Nodes = append(c.Nodes, *n)
		}
		got := PendingOnConstraints(c)
		if len(got) != min(test.pending, 1) || len(got) > 0 && (got[0].Pods != test.pending || !got[0].Since.Equal(now.Add(-test.since))) {
			t.Errorf("%s: pending %+v", test.name, got)
		}
		if found := strings.Contains(outcome(Audit(c, Options{})), PendingRule); found != test.found {
			t.Errorf("%s: found: %t", test.name, found)
		}
	}
}

// An earlier finding may still be true if its rule could not be applied, and its workload was not seen to be gone.
func TestUnsettled(t *testing.T) {
	web := []Workload{{Kind: Deployment, Namespace: shop, Name: "web", Replicas: 2}}
	cart := []policyv1.PodDisruptionBudget{{ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: "cart"}}}
	for _, test := range []struct {
		name string
		c    Cluster
		rule string
		want bool
	}{
		{"everything was read", Cluster{Workloads: web}, "no-budget", false},
		{"what the rule needs was not", Cluster{Workloads: web, Unread: []Unread{{Resource: Budgets}}}, "no-budget", true},
		{"not in this namespace", Cluster{Workloads: web, Unread: []Unread{{Resource: Budgets, Namespace: shop}}}, "no-budget", true},
		{"not in another namespace", Cluster{Workloads: web, Unread: []Unread{{Resource: Budgets, Namespace: "bank"}}}, "no-budget", false},
		{"what another rule needs was not", Cluster{Workloads: web, Unread: []Unread{{Resource: EndpointSlices}}}, "no-budget", false},
		{"the workload is gone", Cluster{Unread: []Unread{{Resource: Budgets}}}, "no-budget", false},
		{"the workloads were not read", Cluster{Unread: []Unread{{Resource: Deployments}}}, "no-budget", true},
		{"the workloads of another kind were not", Cluster{Unread: []Unread{{Resource: StatefulSets}}}, "no-budget", false},
		{"the namespace was not", Cluster{Unread: []Unread{{Resource: Namespaces, Namespace: shop}}}, "no-budget", true},
		{"the budget", Cluster{Unread: []Unread{{Resource: Budgets}}}, "budget-covers-nothing", true},
		{"StatefulSets that it may cover", Cluster{Budgets: cart, Unread: []Unread{{Resource: StatefulSets}}}, "budget-covers-nothing", true},
		{"Deployments of another namespace", Cluster{Budgets: cart, Unread: []Unread{{Resource: Deployments, Namespace: "bank"}}}, "budget-covers-nothing", false},
		{"StatefulSets, and the budget is gone", Cluster{Unread: []Unread{{Resource: StatefulSets}}}, "budget-covers-nothing", false},
	} {
		kind, name := Deployment, "web"
		if test.rule == "budget-covers-nothing" {
			kind, name = kindBudget, "cart"
		}
		if got := Audit(test.c, Options{}).Unsettled(&test.c, test.rule, shop, kind, name); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// A budget may cover pods of workloads that cannot be read, or that are left out of an audit. Requests may be sent to what elects a leader if Services
// cannot be read.
func TestWhatCannotBeSeen(t *testing.T) {
	labels := map[string]string{"app": "cart"}
	b := *budget(shop, "cart", &metav1.LabelSelector{MatchLabels: labels})
	b.Status.ExpectedPods = 0
	two := func(name string) Workload {
		return Workload{Kind: Deployment, Namespace: shop, Name: name, Replicas: 2}
	}
	covered, elects := two("cart"), two("web")
	covered.Template.Labels = labels
	elects.Replicas, elects.Template.Spec.Containers = 1, []corev1.Container{{Args: []string{"--leader-elect"}}}
	left := Cluster{Budgets: []policyv1.PodDisruptionBudget{b}, Workloads: []Workload{covered, two("web")}}
	left.Only("web")
	for name, test := range map[string]struct {
		c    Cluster
		want string
	}{
		"StatefulSets that a budget may cover": {Cluster{Budgets: left.Budgets, Unread: []Unread{{Resource: StatefulSets}}}, "undecided " + strings.Join(ids(Rules), " ") + ", no workload"},
		"a workload that is left out":          {left, "warning no-budget, note no-readiness-probe (no fix)"},
		"Services":                             {Cluster{Unread: []Unread{{Resource: Services}}, Workloads: []Workload{elects}}, "error single-replica, undecided " + strings.Join(rulesWithout(Rules, Services), " ")},
	} {
		if got := outcome(Audit(test.c, Options{})); got != test.want {
			t.Errorf("%s: found %q, want %q", name, got, test.want)
		}
	}
}

// Data in a folder of a node is on that node alone. What is read there, and what belongs to the node itself, is no data.
func TestFoldersOfNodes(t *testing.T) {
	for path, want := range map[string]bool{
		"/srv": true, "/var/lib/mysql": true, "/data/run": true, "/": true,
		"/var/run/docker.sock": false, "/mnt/api.sock": false, "/etc/ssl": false, "/var/log": false, "/dev": false, "/lib/modules": false,
	} {
		for _, readOnly := range []bool{false, true} {
			w := newWorld(t, good, hosted(path, readOnly)).read().Workloads[0]
			if w.Claims != (want && !readOnly) {
				t.Errorf("%s, read only %t: %t", path, readOnly, w.Claims)
			}
		}
	}
}

// A program for a database keeps no data of its own.
func TestPrograms(t *testing.T) {
	for image, want := range map[string]bool{
		"mongo-express": false, "prom/mysqld-exporter:v1": false, "pgbouncer": false, "shop/web:redis-1": true, "mcr.microsoft.com/mssql/server": true, "redis:7": true, "web": false,
		"docker-proxy.corp/library/postgres:16": true, "client-a/redis:7": true, "admin.example/mysql": true, "backup.example:5000/x/mongo:8-ui@sha256:0": true, "console/valkey": true,
		"eclipse-mosquitto:2": true, "emqx/emqx:5": true, "nats:2-alpine": true, "natsio/prometheus-nats-exporter": false, "apache/activemq-artemis": true, "signatsuite/web": false,
		"docker-proxy.corp/library/redis-exporter:16@sha256:0": false, "redis/redis-ui:1": false, "corp/pgbouncer:postgres": false,
	} {
		s := subject{Workload: &Workload{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: image}}}}}}
		if got := s.stateful(); got != want {
			t.Errorf("%s keeps data: %t", image, got)
		}
	}
}

func TestDemanded(t *testing.T) {
	parse := func(s string) *intstr.IntOrString {
		if s == "" {
			return nil
		}
		v := intstr.Parse(s)
		return &v
	}
	for _, test := range []struct {
		min, max       string
		expected, want int
	}{
		{"", "", 6, 0}, // a budget that demands nothing, as the API allows
		{"", "34%", 6, 3}, {"", "9", 6, 0}, {"50%", "", 7, 4}, {"100%", "", 3, 3}, {"0", "", 3, 0}, {"some", "", 3, 0},
	} {
		_, got := demanded(policyv1.PodDisruptionBudgetSpec{MinAvailable: parse(test.min), MaxUnavailable: parse(test.max)}, test.expected)
		if got != test.want {
			t.Errorf("minAvailable %q, maxUnavailable %q of %d: %d healthy, want %d", test.min, test.max, test.expected, got, test.want)
		}
	}
}

// TestLeadsTo checks which container a Service's port leads to.
func TestLeadsTo(t *testing.T) {
	web := corev1.Container{Name: "web", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}, {ContainerPort: 9090}}}
	log := corev1.Container{Name: "log"}
	for _, test := range []struct {
		name       string
		containers []corev1.Container
		port       corev1.ServicePort
		want, at   string // empty: unknown
	}{
		{"by name", []corev1.Container{log, web}, corev1.ServicePort{Port: 80, TargetPort: intstr.FromString("http")}, "web", "http"},
		{"by number", []corev1.Container{log, web}, corev1.ServicePort{Port: 80, TargetPort: intstr.FromInt32(9090)}, "web", "9090"},
		{"by a number that has a name", []corev1.Container{web}, corev1.ServicePort{Port: 80, TargetPort: intstr.FromInt32(8080)}, "web", "http"},
		{"by the Service's own number", []corev1.Container{web}, corev1.ServicePort{Port: 9090}, "web", "9090"},
		{"not declared, by the only one", []corev1.Container{log}, corev1.ServicePort{Port: 80}, "log", "80"},
		{"not declared, by one of two", []corev1.Container{log, web}, corev1.ServicePort{Port: 80}, "", ""},
		{"a name that no port has", []corev1.Container{log}, corev1.ServicePort{Port: 80, TargetPort: intstr.FromString("http")}, "", ""},
	} {
		s := subject{Workload: &Workload{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: test.containers}}}}
		got, ok := s.leadsTo(test.port)
		if ok != (test.want != "") || ok && (got.Name != test.want || got.port.String() != test.at || !got.tcp) {
			t.Errorf("%s: %v %+v", test.name, ok, got)
		}
	}
}

// During a rollout, a constraint with pod-template-hash in matchLabelKeys is judged on the pods of one revision.
func TestSoftConstraintInARollout(t *testing.T) {
	pod := func(revision string, going bool) Pod {
		return Pod{Labels: map[string]string{revisionKey: revision}, Node: "a1", Going: going}
	}
	s := subject{Workload: &Workload{Pods: []Pod{pod("1", false), pod("2", false), pod("2", false), pod("1", true), pod("1", true)}}}
	if got := s.largest([]string{revisionKey}); len(got) != 2 || got[0].Labels[revisionKey] != "2" {
		t.Errorf("judged are %d pods, want the 2 of revision 2", len(got))
	}
	if got := s.largest(nil); len(got) != 3 {
		t.Errorf("without matchLabelKeys judged are %d pods, want all 3 that stay", len(got))
	}
}
