package audit

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/holdfast-ha/holdfast/workloads"
)

// row is a workload of good practice with some changes, and what an audit finds.
type row struct {
	name string
	// want has the severity and the rule of each finding, "(no fix)" if it has none, and "undecided" with a rule that cannot decide. The fix of a single
	// finding is applied, and what is found then stands after "; then". Nothing else may be found.
	want    string
	backend workloads.Backend
	changes []change
}

func is(name, want string, b workloads.Backend, changes ...change) row {
	return row{name, want, b, changes}
}

// alsoOn tries the steps elsewhere, too; see e2e_test.go.
var alsoOn func(w *world, fix []Step)

// TestRules audits each row, types the commands of its fix, and audits again. The golden file has the sentences and the commands.
func TestRules(t *testing.T) {
	var text strings.Builder
	fixes, left := map[string]bool{}, 0
	for _, g := range rows {
		for _, r := range g.rows {
			left++
			t.Run(g.about+"/"+r.name, func(t *testing.T) {
				left--
				w := newWorld(t, r.backend, r.changes...)
				report := w.audit()
				fmt.Fprintf(&text, "\n%s: %s\n", g.about, r.name)
				writeFindings(&text, report)
				got := outcome(report)
				if len(report.Findings) == 1 && len(report.Findings[0].Fix) > 0 {
					f := report.Findings[0]
					fixes[f.Rule] = true
					if alsoOn != nil {
						alsoOn(w, f.Fix)
					}
					for _, step := range f.Fix {
						w.typed(step)
					}
					w.settle()
					if again := outcome(w.audit()); again != "" {
						got += "; then " + again
					}
				}
				if got != r.want {
					t.Errorf("found %q, want %q", got, r.want)
				}
			})
		}
	}
	if left > 0 { // only some of the rows were asked for
		return
	}
	golden(t, "findings.txt", []byte(text.String()))
	for _, r := range Rules {
		if !fixes[r.ID] && r.ID != "budget-covers-nothing" { // which no patch can fix
			t.Errorf("rule %s: no row shows that its fix leaves nothing to find", r.ID)
		}
	}
}

func outcome(r Report) string {
	var all []string
	for _, f := range r.Findings {
		one := string(f.Severity) + " " + f.Rule
		if len(f.Fix) == 0 {
			one += " (no fix)"
		}
		all = append(all, one)
	}
	for _, n := range r.NotChecked {
		all = append(all, "undecided "+strings.Join(n.Rules, " "))
	}
	if r.Workloads == 0 {
		all = append(all, "no workload")
	}
	return strings.Join(all, ", ")
}

func writeFindings(text *strings.Builder, r Report) {
	for _, f := range r.Findings {
		fmt.Fprintf(text, "  %s: %s\n", f.Object(), f.Evidence)
		for _, step := range f.Fix {
			fmt.Fprintf(text, "    %s\n", step.Command)
		}
		if f.Caution != "" {
			fmt.Fprintf(text, "    # %s\n", f.Caution)
		}
	}
	for _, n := range r.NotChecked {
		fmt.Fprintf(text, "  not checked in %s: %s\n", n.Where(), n.Why)
	}
}

// Backends of the rows.
var (
	good       = workloads.Backend{}
	single     = workloads.Backend{Replicas: 1}
	unspread   = workloads.Backend{Spread: workloads.NoSpread}
	lucky      = workloads.Backend{Replicas: 3, Spread: workloads.NoSpread}
	unbudgeted = workloads.Backend{Budget: workloads.NoBudget}
	abrupt     = workloads.Backend{PreStop: workloads.NoPreStop}
	unprobed   = workloads.Backend{Readiness: workloads.NoReadiness}
	nodePort   = workloads.Backend{NodePort: 30080}
	asking     = workloads.Backend{Resources: workloads.Resources{CPU: "100m", CPULimit: "200m"}}
	oneOut     = workloads.Strategy{MaxUnavailable: "1"}

	hardZone = workloads.Spread{Key: workloads.Zone}
	hardHost = workloads.Spread{Key: workloads.Host}
	softZone = workloads.Spread{Key: workloads.Zone, Unsatisfiable: corev1.ScheduleAnyway}
	softHost = workloads.Spread{Key: workloads.Host, Unsatisfiable: corev1.ScheduleAnyway}
	// oldZone and oldHost also count the pods of old revisions.
	oldZone = workloads.Spread{Key: workloads.Zone, MatchLabelKeys: []string{}}
	oldHost = workloads.Spread{Key: workloads.Host, Unsatisfiable: corev1.ScheduleAnyway, MatchLabelKeys: []string{}}
	// allZones counts tainted nodes, too.
	allZones = workloads.Spread{Key: workloads.Zone, NodeTaintsPolicy: corev1.NodeInclusionPolicyIgnore}

	others   = map[string]string{"app": "other"}
	crowded2 = on("a1", "b1", "c1", "a1", "b1", "c1")
	apart    = []workloads.Affinity{{Key: workloads.Host, Away: true, Weight: 100}}
	upstream = "upstream api { server 10.0.0.1:30443; server 10.0.0.3:30443; }\n"
)

func spread(s ...workloads.Spread) workloads.Backend { return workloads.Backend{Spread: s} }

func spread3(s ...workloads.Spread) workloads.Backend {
	return workloads.Backend{Replicas: 3, Spread: s}
}

func away(replicas int32, key string) workloads.Backend {
	return workloads.Backend{Replicas: replicas, Affinity: []workloads.Affinity{{Key: key, Away: true}}}
}

func minAvailable(n string) workloads.Backend {
	return workloads.Backend{Budget: workloads.Budget{MinAvailable: n}}
}

func maxUnavailable(n string) workloads.Backend {
	return workloads.Backend{Budget: workloads.Budget{MaxUnavailable: n}}
}

var rows = []struct {
	about string
	rows  []row
}{
	{"good practice", []row{
		is("the default", "", good),
		is("a StatefulSet", "", good, asSet),
		is("seven pods in three zones", "", workloads.Backend{Replicas: 7}),
		is("a budget of minAvailable", "", minAvailable("80%")),
		is("a node port", "", nodePort),
		is("nodes of one zone are cordoned", "", good, tainted(corev1.TaintNodeUnschedulable, "c1", "c2")),
		is("no replica", "no workload", unbudgeted, inDeployment(func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32) })),
		is("six faults that do not show yet", "warning unhealthy-pods-block-drains, warning autoscaler-minimum, warning recreates-all-pods, warning no-spread, note liveness-asks-readiness, note budget-covers-nothing (no fix)",
			lucky, on("a1", "b1", "c1"), scaled(Deployment, "backend", 1, 5), astray(typo), inBudget(ifHealthy), recreate, live(1, 1)),
	}},
	{"one-node", []row{
		is("nothing spreads them", "error one-node", unspread),
		is("drawn together", "error one-node", workloads.Backend{Spread: workloads.NoSpread, Affinity: []workloads.Affinity{{Key: workloads.Host}}}),
		is("a StatefulSet", "error one-node", workloads.Backend{Replicas: 2, Spread: workloads.NoSpread}, asSet),
		is("a loose constraint", "error one-node", spread(workloads.Spread{Key: workloads.Zone, MaxSkew: 6})),
		is("a constraint that counts other pods", "error one-node", spread(workloads.Spread{Key: workloads.Zone, Selector: others}), on("a1")),
		is("placed when there was no other node", "error one-node", spread(hardZone, hardHost), on("b2")),
		is("a paused rollout", "error one-node", unspread, inDeployment(func(d *appsv1.Deployment) { d.Spec.Paused = true })),
		is("pinned", "error one-node (no fix)", workloads.Backend{OnNode: "c1"}),
		is("a single zone", "error one-node; then note one-zone (no fix)", unspread, labelled(zoneKey, "a")),
	}},
	{"one-zone", []row{
		is("spread over nodes only", "error one-zone", spread(workloads.Spread{Key: workloads.Host, MaxSkew: 3}), on("b1", "b2")),
		is("it selects the zone", "error one-zone (no fix)", workloads.Backend{NodeSelector: map[string]string{workloads.Zone: "b"}}, on("b1", "b2")),
		is("the only zone with workers", "note one-zone (no fix)", good, labelled(zoneKey, "b", "a1", "a2", "b1", "b2", "c1", "c2")),
		is("nodes without zones", "undecided one-zone", spread(hardHost), labelled(zoneKey, "")),
	}},
	{"no-spread", []row{
		is("luck", "warning no-spread", lucky, on("a1", "b1", "c1")),
		is("a StatefulSet", "warning no-spread", lucky, on("a1", "b1", "c1"), asSet),
		is("a constraint about other pods", "warning no-spread", lucky, on("a1", "b1", "c1"), inPod(func(p *corev1.PodSpec) {
			p.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
				{MaxSkew: 1, TopologyKey: hostKey, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: others}},
			}
		})),
		is("there are no zones", "warning no-spread, undecided one-zone; then undecided one-zone", lucky, on("a1", "b1"), labelled(zoneKey, "")),
		is("luck has run out", "error one-node", lucky, on("a1")),
		is("and so in a zone", "error one-zone", lucky, on("a1", "a2")),
		is("a constraint", "", workloads.Backend{Replicas: 3}),
		is("required anti-affinity", "", workloads.Backend{Replicas: 3, Spread: workloads.NoSpread, Affinity: []workloads.Affinity{{Key: workloads.Host, Away: true}}, Strategy: oneOut}, on("a1", "b1", "c1")),
		is("preferred anti-affinity", "", workloads.Backend{Replicas: 3, Spread: workloads.NoSpread, Affinity: apart}, on("a1", "b1", "c1")),
	}},
	{"unusable-domain", []row{
		is("room so far", "warning unusable-domain", spread3(allZones, softHost), anywhere, atEdge),
		is("no room", "error unusable-domain", spread(allZones, softHost), anywhere, atEdge, on("a1", "b1", "c1", "a2", "b2", "c2")),
		is("a policy that is not set", "warning unusable-domain", spread3(workloads.Spread{Key: workloads.Zone, MaxSkew: 2}, softHost), anywhere, atEdge, on("a1", "b1", "c1"),
			inPod(func(p *corev1.PodSpec) { p.TopologySpreadConstraints[0].NodeTaintsPolicy = nil })),
		is("nodes that it does not select", "warning unusable-domain", spread3(workloads.Spread{
			Key: workloads.Zone, NodeAffinityPolicy: corev1.NodeInclusionPolicyIgnore, NodeTaintsPolicy: corev1.NodeInclusionPolicyIgnore,
		}, softHost), atEdge, asSet),
		is("a zone with workers in it", "", spread3(allZones, softHost), anywhere),
		is("nodes without the label", "", spread3(allZones, softHost), anywhere, labelled(zoneKey, "", "cp", "load")),
		is("it tolerates them", "", spread3(allZones, softHost), anywhere, atEdge, on("a1", "b1", "c1"),
			inPod(func(p *corev1.PodSpec) { p.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}} })),
		is("temporary taints", "", spread3(allZones, softHost), on("a1", "b1", "c1"), tainted(corev1.TaintNodeNotReady, "c1", "c2")),
		is("a soft constraint", "", spread3(workloads.Spread{Key: workloads.Zone, NodeTaintsPolicy: corev1.NodeInclusionPolicyIgnore, Unsatisfiable: corev1.ScheduleAnyway}, softHost),
			anywhere, atEdge, on("a1", "b1", "c1")),
	}},
	{"soft-constraint-violated", []row{
		is("zones", "warning soft-constraint-violated", spread(softZone), on("a1", "a2", "a1", "a2", "b1", "c1")),
		is("nodes", "warning soft-constraint-violated", good, crowded2),
		is("nodes of a StatefulSet", "warning soft-constraint-violated", good, crowded2, asSet),
		is("a preference to be apart", "warning soft-constraint-violated", workloads.Backend{Spread: []workloads.Spread{hardZone}, Affinity: apart}, crowded2),
		is("both", "warning soft-constraint-violated", workloads.Backend{Affinity: apart}, crowded2),
		is("a hard constraint too, which came after the pods", "warning soft-constraint-violated", spread(softZone, hardZone), on("a1", "a2", "a1", "a2", "b1", "c1")),
		is("as preferred", "", spread(softZone, softHost)),
		is("zones with nodes of unequal number force it", "", spread(hardZone, softHost), crowded2, labelled("holdfast.dev/role", "retired", "c2")),
		is("an empty node that is cordoned", "", workloads.Backend{Replicas: 5, Spread: []workloads.Spread{hardZone, softHost}}, cordoned("a2"), on("a1", "b1", "c1", "b2", "c2")),
		is("more pods than nodes, which prefer to be apart", "", workloads.Backend{Replicas: 9, Affinity: apart}),
	}},
	{"no-match-label-keys", []row{
		is("both", "warning no-match-label-keys", spread(oldZone, oldHost)),
		is("a preference", "note no-match-label-keys", spread(hardZone, oldHost)),
		is("other keys, which stay", "warning no-match-label-keys", spread(workloads.Spread{Key: workloads.Zone, MatchLabelKeys: []string{"tier"}}, softHost)),
		is("a StatefulSet", "", spread(oldZone, oldHost), asSet),
		is("old and new never meet", "", spread(oldZone, oldHost), recreate, inService(func(s *corev1.Service) { s.Spec.Selector = nil })),
		is("told apart in the selector", "", spread(oldZone, softHost), inPod(func(p *corev1.PodSpec) {
			p.TopologySpreadConstraints[0].LabelSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: revisionKey, Operator: metav1.LabelSelectorOpNotIn, Values: []string{"0"}}}
		})),
		is("about other pods", "", spread(hardZone, softHost, workloads.Spread{Key: "rack", Unsatisfiable: corev1.ScheduleAnyway, MatchLabelKeys: []string{}, Selector: others})),
	}},
	{"single-replica", []row{
		is("one", "error single-replica", single),
		is("not set, which means one", "error single-replica", good, inDeployment(func(d *appsv1.Deployment) { d.Spec.Replicas = nil })),
		is("a StatefulSet", "warning single-replica", single, asSet),
		is("with a volume", "error single-replica", single, claim),
		is("with a folder of its node", "error single-replica", single, hosted("/srv/data", false)),
		is("a database", "error single-replica", single, image("docker.io/bitnami/postgresql:16")),
		is("a queue", "error single-replica", single, image("registry.example.com/rabbitmq@sha256:0")),
		is("an autoscaler leaves it so", "error single-replica", single, scaled(Deployment, "backend", 1, 9)),
		is("an autoscaler never has more", "error single-replica", single, scaled(Deployment, "backend", -1, 1)),
		is("an autoscaler scales it up", "", single, scaled(Deployment, "backend", 2, 9)),
		is("it elects a leader", "note single-replica", single, unserved, args("--leader-elect")),
		is("it elects a leader, by a namespace", "note single-replica", single, unserved, args("--leader-election-namespace=kube-system")),
		is("it elects a leader, by its environment", "note single-replica", single, unserved, variable("LEADER_ELECTION_ENABLED", "true")),
		is("it elects none, by its environment", "error single-replica", single, unserved, variable("LEADER_ELECTION_ENABLED", "false")),
		is("it elects none", "error single-replica", single, unserved, args("--enable-leader-election=false")),
		is("it elects none, by a word", "error single-replica", single, unserved, args("--leader-elect", "false")),
		is("no Service sends it requests", "error single-replica", single, unserved),
		is("it elects a leader, and requests are sent to it", "error single-replica", single, args("--leader-elect")),
	}},
	{"autoscaler-minimum", []row{
		is("one", "warning autoscaler-minimum", good, scaled(Deployment, "backend", 1, 9)),
		is("not set, which means one", "warning autoscaler-minimum", good, scaled(Deployment, "backend", -1, 9)),
		is("of a StatefulSet", "warning autoscaler-minimum", good, asSet, scaled(StatefulSet, "backend", 1, 2)),
		is("none", "warning autoscaler-minimum", good, scaled(Deployment, "backend", 0, 9)),
		is("two", "", good, scaled(Deployment, "backend", 2, 9)),
		is("of another kind", "", good, scaled(StatefulSet, "backend", 1, 9)),
		is("of another name", "", good, scaled(Deployment, "front", 1, 9)),
	}},
	{"budget-blocks-drains", []row{
		is("none may be out", "error budget-blocks-drains", maxUnavailable("0")),
		is("as many as there are", "error budget-blocks-drains", minAvailable("6")),
		is("a share that is rounded up", "error budget-blocks-drains", minAvailable("84%")),
		is("more than there are", "error budget-blocks-drains", minAvailable("9")),
		is("three budgets", "error budget-blocks-drains", good, with(budget(shop, "extra", own), budget(shop, "one-more", own))),
		is("two budgets of several workloads", "error budget-blocks-drains (no fix)", good, with(budget(shop, "everybody", everything)), beside(workloads.Backend{Name: "front", Budget: workloads.NoBudget})),
		is("of a single replica", "error single-replica, error budget-blocks-drains", workloads.Backend{Replicas: 1, Budget: workloads.Budget{MinAvailable: "1"}}),
		is("as many as an autoscaler leaves", "warning budget-blocks-drains", minAvailable("2"), scaled(Deployment, "backend", 2, 9)),
		is("more than an autoscaler leaves", "warning budget-blocks-drains", minAvailable("4"), scaled(Deployment, "backend", 3, 9)),
		is("a share of them, rounded up", "warning budget-blocks-drains", minAvailable("67%"), scaled(Deployment, "backend", 2, 9)),
		is("one less than an autoscaler leaves", "", minAvailable("2"), scaled(Deployment, "backend", 3, 9)),
		is("an autoscaler of another workload", "", minAvailable("2"), scaled(Deployment, "front", 2, 9)),
		is("one that may be away, of the fewest", "", maxUnavailable("1"), scaled(Deployment, "backend", 2, 9)),
		is("a share that leaves one", "", minAvailable("83%")),
		is("a share of one, rounded up", "", maxUnavailable("1%")),
		is("a budget that covers pods of others too", "", minAvailable("6"), inBudget(func(b *policyv1.PodDisruptionBudget) { b.Status.ExpectedPods = 8 })),
	}},
	{"no-budget", []row{
		is("none", "warning no-budget", unbudgeted),
		is("a StatefulSet", "warning no-budget", unbudgeted, asSet),
		is("a budget of the same name that covers others", "warning no-budget", unbudgeted, with(budget(shop, "backend", &metav1.LabelSelector{MatchLabels: others}))),
		is("in another namespace", "warning no-budget", unbudgeted, with(budget("other", "backend", own))),
		is("one for the whole namespace", "", unbudgeted, with(budget(shop, "all", everything))),
	}},
	{"budget-covers-nothing", []row{
		is("a typing error", "note budget-covers-nothing (no fix)", good, astray(typo)),
		is("no selector", "note budget-covers-nothing (no fix)", good, astray(nil)),
		is("a workload that it may be meant for", "warning no-budget, warning budget-covers-nothing (no fix)", unbudgeted, astray(typo)),
		is("no selector, and such a workload", "warning no-budget, warning budget-covers-nothing (no fix)", unbudgeted, astray(nil)),
		is("pods of something else", "", good, astray(typo, func(b *policyv1.PodDisruptionBudget) { b.Status.ExpectedPods = 1 })),
		is("not counted yet", "", good, astray(typo, func(b *policyv1.PodDisruptionBudget) { b.Generation = 1 })),
		is("a workload without replicas at present", "", good, astray(typo), with(&appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: "cart"},
			Spec:       appsv1.DeploymentSpec{Replicas: new(int32), Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: typo.MatchLabels}}},
		})),
		is("of a whole namespace without pods", "", good, astray(everything, func(b *policyv1.PodDisruptionBudget) { b.Namespace = "empty" })),
	}},
	{"unhealthy-pods-block-drains", []row{
		is("not set", "warning unhealthy-pods-block-drains", good, inBudget(ifHealthy)),
		is("the default", "warning unhealthy-pods-block-drains", workloads.Backend{Budget: workloads.Budget{UnhealthyPodEvictionPolicy: policyv1.IfHealthyBudget}}),
		is("of a StatefulSet", "warning unhealthy-pods-block-drains", good, inBudget(ifHealthy), asSet),
		is("set", "", workloads.Backend{Budget: workloads.Budget{UnhealthyPodEvictionPolicy: policyv1.AlwaysAllow}}),
	}},
	{"pending-on-hard-constraint", []row{
		is("minDomains exceeds the domains that exist", "error pending-on-hard-constraint", spread(workloads.Spread{Key: workloads.Zone, MinDomains: 4}, softHost)),
		is("a StatefulSet's pod is replaced by hand", "error pending-on-hard-constraint", spread(workloads.Spread{Key: workloads.Zone, MinDomains: 4}, softHost), asSet),
		is("a zone that exists and is unreachable", "error pending-on-hard-constraint", spread(allZones, softHost), tainted(corev1.TaintNodeUnreachable, "c1", "c2")),
		is("nowhere near others", "error pending-on-hard-constraint", workloads.Backend{Affinity: []workloads.Affinity{{Key: workloads.Zone, Selector: others}}}),
		is("no such node", "error pending-on-hard-constraint (no fix)", workloads.Backend{NodeSelector: map[string]string{"disk": "fast"}}),
		is("a label that no node has", "error pending-on-hard-constraint (no fix)", spread(workloads.Spread{Key: "rack"}, hardZone)),
		is("apart, with a cordoned node", "error pending-on-hard-constraint", workloads.Backend{Affinity: []workloads.Affinity{{Key: workloads.Host, Away: true}}, Strategy: oneOut}, cordoned("c2")),
	}},
	{"unmeetable-anti-affinity", []row{
		is("more pods than zones", "error unmeetable-anti-affinity", away(4, workloads.Zone), on("a1", "b1", "c1", "a2")),
		is("a StatefulSet", "error unmeetable-anti-affinity", away(7, workloads.Host), on("a1", "b1", "c1", "a2", "b2", "c2"), asSet),
		is("no room to surge", "error unmeetable-anti-affinity", away(6, workloads.Host)),
		is("no room to surge by default: a quarter of three is none", "error unmeetable-anti-affinity", away(3, workloads.Zone), inDeployment(func(d *appsv1.Deployment) {
			quarter := intstr.FromString("25%")
			d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: &quarter, MaxUnavailable: &quarter}
		})),
		is("a preference exists already", "error unmeetable-anti-affinity", workloads.Backend{Replicas: 4, Affinity: []workloads.Affinity{
			{Key: workloads.Host, Away: true, Weight: 1}, {Key: workloads.Zone, Away: true},
		}}, on("a1", "b1", "c1", "a2")),
		is("room to surge", "", away(5, workloads.Host)),
		is("a StatefulSet does not surge", "", away(6, workloads.Host), asSet),
		is("one may be out", "", workloads.Backend{Affinity: []workloads.Affinity{{Key: workloads.Host, Away: true}}, Strategy: oneOut}),
		is("from other pods", "", workloads.Backend{Affinity: []workloads.Affinity{{Key: workloads.Zone, Away: true, Selector: others}}}, on("a1", "b1", "c1", "a2", "b2", "c2")),
		is("a node without the label takes any number", "", away(9, "rack"), on("a1", "b1", "c1", "a2", "b2", "c2"), labelled("rack", "r1", "a1", "a2", "b1", "b2", "c1")),
	}},
	{"no-room-to-surge", []row{
		is("a pod on each node", "error no-room-to-surge", good, hostPorts),
		is("a node is free", "", workloads.Backend{Replicas: 5}, hostPorts),
		is("one may be out", "", workloads.Backend{Strategy: oneOut}, hostPorts),
	}},
	{"quota-stops-rollout", []row{
		is("pods", "error quota-stops-rollout", good, quota("pods", "6", "6")),
		is("counted pods", "error quota-stops-rollout", good, quota("count/pods", "8", "8")),
		is("requests", "error quota-stops-rollout", asking, quota("requests.cpu", "650m", "600m")),
		is("requests by their short name", "error quota-stops-rollout", asking, quota("cpu", "650m", "600m")),
		is("limits", "error quota-stops-rollout", asking, quota("limits.cpu", "1300m", "1200m")),
		is("room for one more", "", good, quota("pods", "7", "6")),
		is("just room", "", asking, quota("requests.cpu", "700m", "600m")),
		is("of what no pod takes", "", good, quota("services", "1", "1")),
		is("with a scope", "", good, quota("pods", "6", "6", func(q *corev1.ResourceQuota) {
			q.Spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeTerminating}
		})),
		is("of another namespace", "", good, quota("pods", "6", "6", func(q *corev1.ResourceQuota) { q.Namespace = "other" })),
		is("whose use is not known yet", "", good, quota("pods", "6", "6", func(q *corev1.ResourceQuota) { q.Status.Used = nil })),
		is("one may be out", "", workloads.Backend{Strategy: oneOut}, quota("pods", "6", "6")),
	}},
	{"recreates-all-pods", []row{
		is("behind a Service", "warning recreates-all-pods", good, recreate),
		is("paused", "warning recreates-all-pods", good, recreate, inDeployment(func(d *appsv1.Deployment) { d.Spec.Paused = true })),
		is("that reads a folder of its node", "warning recreates-all-pods", good, recreate, hosted("/srv", true)),
		is("with a volume", "note recreates-all-pods (no fix)", good, recreate, claim),
		is("with a folder of its node", "note recreates-all-pods (no fix)", good, recreate, hosted("/srv", false)),
		is("a database from a proxy", "note recreates-all-pods (no fix)", good, recreate, image("docker-proxy.corp/library/postgres:16")),
		is("a StatefulSet", "", good, recreate, asSet),
		is("no Service sends it requests", "", good, recreate, unserved),
		is("asked for metrics alone", "", good, recreate, port("metrics")),
	}},
	{"no-readiness-probe", []row{
		is("none", "warning no-readiness-probe", unprobed),
		is("a StatefulSet", "warning no-readiness-probe", unprobed, asSet),
		is("only a sidecar's", "warning no-readiness-probe", unprobed, sidecar(corev1.Container{Name: "proxy", Image: "x", ReadinessProbe: &corev1.Probe{
			ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(15021)}},
		}})),
		is("a port that is not declared", "warning no-readiness-probe", unprobed, undeclared, with(service("web", 9000, corev1.ProtocolTCP))),
		is("UDP", "warning no-readiness-probe (no fix)", unprobed, undeclared, with(service("dns", 53, corev1.ProtocolUDP))),
		is("no Service sends it requests", "note no-readiness-probe (no fix)", unprobed, unserved),
		is("a Service for peers", "", good, unserved, inPod(func(p *corev1.PodSpec) { p.Containers = append(p.Containers, corev1.Container{Name: "other"}) }), with(func() *corev1.Service {
			s := service("peers", 7000, corev1.ProtocolTCP)
			s.Spec.Selector, s.Spec.PublishNotReadyAddresses, s.Spec.ClusterIP = worker, true, corev1.ClusterIPNone
			return s
		}())),
		is("another namespace's Service", "", unprobed, unserved, inContainer(func(c *corev1.Container) { c.ReadinessProbe, c.Lifecycle = &corev1.Probe{}, nil }), with(func() *corev1.Service {
			s := service("web", 7000, corev1.ProtocolTCP)
			s.Namespace, s.Spec.Selector = "other", worker
			return s
		}())),
		is("metrics", "note no-readiness-probe, note no-prestop", careless, port("http-metrics")),
		is("profiles", "note no-readiness-probe, note no-prestop", careless, port("debug")),
		is("a Service of metrics", "note no-readiness-probe, note no-prestop", careless, inService(func(s *corev1.Service) { s.Name = "backend-metrics" })),
		is("clients", "warning no-readiness-probe, warning no-prestop", careless, port("web")),
		is("promotions", "warning no-readiness-probe, warning no-prestop", careless, port("web-promote")),
		is("metrics and clients", "warning no-readiness-probe, warning no-prestop", careless, port("http-metrics"),
			inContainer(func(c *corev1.Container) {
				c.Ports = append(c.Ports, corev1.ContainerPort{Name: "api", ContainerPort: 9999})
			}),
			inService(func(s *corev1.Service) {
				s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "api", Port: 9999, TargetPort: intstr.FromString("api")})
			})),
	}},
	{"no-prestop", []row{
		is("none", "warning no-prestop", abrupt),
		is("a StatefulSet", "warning no-prestop", abrupt, asSet),
		is("and no time for one", "warning no-prestop", workloads.Backend{PreStop: workloads.NoPreStop, GracePeriod: 4 * time.Second}),
		is("the default grace period is enough", "warning no-prestop", abrupt, inPod(func(p *corev1.PodSpec) { p.TerminationGracePeriodSeconds = nil })),
		is("a proxy, and an application behind it", "warning no-prestop", good, behind(false, nil, nil)),
		is("a proxy in front of an application that sleeps", "warning no-prestop", good, behind(false, nil, sleep(20))),
		is("a sidecar, and an application behind it", "warning no-prestop", good, behind(true, nil, nil)),
		is("a sidecar that sleeps while its application has ended", "warning no-prestop", good, behind(true, sleep(5), nil)),
		is("a sidecar that sleeps for longer than its application", "warning no-prestop", good, behind(true, sleep(20), sleep(5))),
		is("a sidecar, which ends after its application", "", good, behind(true, nil, sleep(5))),
		is("an application with a hook of unknown duration", "", good, behind(true, sleep(5), command("wait-for-quiet"))),
		is("a proxy that sleeps, and something with a port beside it", "", good, behind(false, sleep(5), nil)),
		is("both sleep", "", good, behind(false, sleep(5), sleep(5))),
		is("no Service sends it requests", "", abrupt, unserved),
		is("a single replica of a StatefulSet", "warning single-replica; then warning no-prestop", abruptSingle, asSet),
		is("a single replica that is recreated", "error single-replica, warning recreates-all-pods", abruptSingle, recreate),
		is("a single replica without a surge", "error single-replica; then warning no-prestop", abruptSingle, inDeployment(func(d *appsv1.Deployment) {
			none, all := intstr.FromInt32(0), intstr.FromString("100%")
			d.Spec.Strategy = appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &none, MaxUnavailable: &all}}
		})),
		is("a single replica with a surge", "error single-replica, warning no-prestop", abruptSingle),
		is("two replicas of a StatefulSet", "warning no-prestop", workloads.Backend{Replicas: 2, PreStop: workloads.NoPreStop}, asSet),
	}},
	{"short-grace-period", []row{
		is("all of it", "warning short-grace-period", good, preStop(10, sleep(10))),
		is("a shell's sleep", "warning short-grace-period", good, preStop(30, command("sh", "-c", "nginx -s quit; sleep 45 && exit")), asSet),
		is("the default grace period", "warning short-grace-period", good, preStop(0, command("/bin/sleep", "30")), inPod(func(p *corev1.PodSpec) { p.TerminationGracePeriodSeconds = nil })),
		is("some of it", "", good, preStop(11, sleep(10))),
		is("a hook of unknown duration", "", good, preStop(5, command("wait-for-quiet"))),
		is("another program", "", good, preStop(5, command("usleep", "1000"))),
		is("minutes are left alone", "", good, preStop(5, command("sleep", "1m"))),
		is("an HTTP hook", "", good, preStop(5, &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/drain"}}})),
	}},
	{"offers-unready-pods", []row{
		is("with an address", "warning offers-unready-pods", good, publishing("clients", func(*corev1.ServiceSpec) {})),
		is("of a StatefulSet", "warning offers-unready-pods", good, publishing("clients", func(s *corev1.ServiceSpec) { s.ClusterIP = "10.96.0.9" }), asSet),
		is("for peers", "", good, publishing("peers", func(s *corev1.ServiceSpec) { s.ClusterIP = corev1.ClusterIPNone })),
		is("not set", "", good, publishing("clients", func(s *corev1.ServiceSpec) { s.PublishNotReadyAddresses = false })),
		is("of other pods", "", good, publishing("others", func(s *corev1.ServiceSpec) { s.Selector = others })),
		is("without a selector", "", good, publishing("made-by-hand", func(s *corev1.ServiceSpec) { s.Selector = nil })),
	}},
	{"liveness-asks-readiness", []row{
		is("in the same time", "note liveness-asks-readiness", good, live(2, 5)),
		is("sooner", "note liveness-asks-readiness", good, live(1, 1)),
		is("by default", "note liveness-asks-readiness", good, live(0, 0), inContainer(func(c *corev1.Container) { c.ReadinessProbe.PeriodSeconds, c.ReadinessProbe.FailureThreshold = 0, 0 }), asSet),
		is("later", "", good, live(2, 6)),
		is("something else", "", good, live(2, 5), inContainer(func(c *corev1.Container) {
			c.LivenessProbe.ProbeHandler = corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/alive", Port: c.LivenessProbe.HTTPGet.Port}}
		})),
		is("no Service sends it requests", "", good, live(2, 5), unserved),
		is("asked for metrics alone", "", good, port("metrics"), live(2, 5)),
	}},
	{"fixed-node-ports", []row{
		is("an argument", "warning fixed-node-ports", good, args("serve", "--upstreams=10.0.0.1:30443,10.0.0.4:30443"), with(api())),
		is("a variable, with a node's name", "warning fixed-node-ports", good, variable("API", "https://b1:30443/it's?a=1&b=2"), with(api()), asSet),
		is("a command that starts up", "warning fixed-node-ports", good, with(api()), inPod(func(p *corev1.PodSpec) {
			p.InitContainers = []corev1.Container{{Name: "wait", Image: "x", Command: []string{"wait-for", "10.0.0.6:30443"}}}
		})),
		is("a ConfigMap", "warning fixed-node-ports", good, with(api(), configMap(false)), mounts),
		is("a ConfigMap that cannot change", "warning fixed-node-ports (no fix)", good, with(api(), configMap(true)), mounts),
		is("a node port of an unknown Service", "warning fixed-node-ports (no fix)", good, args("serve", "10.0.0.1:31000")),
		is("another machine", "", good, args("serve", "10.9.9.9:30443"), with(api())),
		is("a node, but no node port", "", good, args("serve", "10.0.0.1:9100"), with(api())),
		is("the Service", "", good, args("serve", "api.core.svc:30443"), with(api())),
		is("a ConfigMap that it does not use", "", good, with(api(), configMap(false))),
		is("a gateway's upstreams", "warning fixed-node-ports", nodePort, beside(workloads.Gateway{
			Replicas: 3, OnWorkers: true, Upstreams: []string{"10.0.0.1:30080", "10.0.0.2:30080"}, Health: workloads.NoHealth,
		})),
		is("endpoints by hand", "warning fixed-node-ports", nodePort, with(front(shop), handWritten(shop, "me", 30080, "10.0.0.1", "10.0.0.2"))),
		is("mirrored endpoints", "warning fixed-node-ports", nodePort, with(front(shop), handWritten(shop, mirror, 30080, "10.0.0.1"))),
		is("endpoints of another namespace", "warning fixed-node-ports (no fix)", nodePort, with(front("other"), handWritten("other", "", 30080, "10.0.0.1"))),
		is("endpoints on another machine", "", nodePort, with(front(shop), handWritten(shop, "me", 30080, "192.168.1.9"))),
		is("endpoints at another port", "", nodePort, with(front(shop), handWritten(shop, "me", 5432, "10.0.0.1"))),
	}},
}

var (
	careless     = workloads.Backend{PreStop: workloads.NoPreStop, Readiness: workloads.NoReadiness}
	abruptSingle = workloads.Backend{Replicas: 1, PreStop: workloads.NoPreStop}

	everything = &metav1.LabelSelector{}
	own        = &metav1.LabelSelector{MatchLabels: map[string]string{workloads.LabelName: "backend"}}
	typo       = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "carrt"}}
	worker     = map[string]string{workloads.LabelName: "worker"}
)

// api is what the backend sends requests to: a Service with a node port.
func api() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "core", Name: "api"},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeNodePort, Selector: map[string]string{"app": "api"},
			Ports: []corev1.ServicePort{{Port: 443, NodePort: 30443, TargetPort: intstr.FromString("https")}},
		},
	}
}

func configMap(immutable bool) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: "proxy"}, Immutable: &immutable, Data: map[string]string{"other": "10.0.0.1:9", "nginx.conf": upstream},
	}
}

// front is a Service without a selector, and handWritten are its endpoints.
func front(namespace string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "front"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(30080)}}},
	}
}

func handWritten(namespace, by string, port int32, addresses ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: namespace, Name: "front-1", Labels: map[string]string{discoveryv1.LabelServiceName: "front", discoveryv1.LabelManagedBy: by}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new("any")}, {Name: new("web"), Port: &port}},
	}
	for _, a := range addresses {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{a}})
	}
	return s
}

// service is a Service that selects the backend's pods.
func service(name string, target int32, protocol corev1.Protocol) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: name},
		Spec:       corev1.ServiceSpec{Selector: own.MatchLabels, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(target), Protocol: protocol}}},
	}
}

func budget(namespace, name string, selector *metav1.LabelSelector) *policyv1.PodDisruptionBudget {
	one, always := intstr.FromInt32(1), policyv1.AlwaysAllow
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, Selector: selector, UnhealthyPodEvictionPolicy: &always},
		Status:     policyv1.PodDisruptionBudgetStatus{ExpectedPods: 3}, // of which others may be covered, too
	}
}
