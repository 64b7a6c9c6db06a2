package audit

import (
	"bytes"
	std "cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-ha/holdfast/workloads"
)

const shop = "shop"

var place = workloads.Place{Namespace: shop, Image: "holdfast.local/holdfast:1"}

// fleet is a control plane node, a load node, and two workers in each of three zones.
func fleet() []*corev1.Node {
	nodes := []*corev1.Node{
		node("cp", "a", "control-plane", corev1.Taint{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}),
		node("load", "a", "load", corev1.Taint{Key: "holdfast.dev/role", Value: "load", Effect: corev1.TaintEffectNoSchedule}),
	}
	for i, name := range []string{"a1", "a2", "b1", "b2", "c1", "c2"} {
		n := node(name, name[:1], "worker")
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("10.0.0.%d", i+1)}}
		nodes = append(nodes, n)
	}
	return nodes
}

func node(name, zone, role string, taints ...corev1.Taint) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{zoneKey: zone, hostKey: name, "holdfast.dev/role": role}},
		Spec:       corev1.NodeSpec{Taints: taints},
	}
}

// mutant is a workload of good practice with one fault.
type mutant struct {
	name    string
	backend workloads.Backend
	// harm changes what a Backend's fields cannot express.
	harm    func(*appsv1.Deployment)
	budget  func(*policyv1.PodDisruptionBudget)
	service func(*corev1.Service)
	nodes   func([]*corev1.Node)
	more    []runtime.Object
	// statefulSet turns the Deployment into a StatefulSet.
	statefulSet bool
	// on are the nodes that its pods run on; none: the scheduler picks.
	on []string
	// the expected finding
	kind, of string   // of the object that it is about; default: the workload
	severity Severity // default: the rule's
	evidence string
	caution  string // a part of the expected caution
	steps    int    // default 1; -1: no fix
}

// caught checks that exactly one rule finds each mutant, that the printed commands can be typed and fix it, and that nothing is
// found afterwards.
func caught(t *testing.T, rule string, mutants ...mutant) {
	t.Helper()
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) { m.caught(t, rule) })
	}
}

// alsoOn tries the steps elsewhere, too; see e2e_test.go.
var alsoOn func(w *world, fix []Step)

func (m mutant) caught(t *testing.T, rule string) {
	w := newWorld(t, m)
	w.settle(m.on...)
	report := w.audit()
	if len(report.NotChecked) > 0 {
		t.Fatalf("not checked: %+v", report.NotChecked)
	}
	if len(report.Findings) != 1 || report.Findings[0].Rule != rule {
		t.Fatalf("found %s; want %s alone", listed(report.Findings), rule)
	}
	f := report.Findings[0]
	want := Finding{
		Rule: rule, Severity: std.Or(m.severity, Rules[slices.IndexFunc(Rules, func(r Rule) bool { return r.ID == rule })].Severity), Namespace: shop, Kind: Deployment, Name: "backend", Evidence: m.evidence,
	}
	if m.statefulSet {
		want.Kind = StatefulSet
	}
	want.Kind, want.Name = std.Or(m.kind, want.Kind), std.Or(m.of, want.Name)
	got := f
	got.Fix, got.Caution = nil, ""
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("finding (-want +got):\n%s", diff)
	}
	if !strings.Contains(f.Caution, m.caution) {
		t.Errorf("caution %q; want %q in it", f.Caution, m.caution)
	}
	if steps := max(std.Or(m.steps, 1), 0); len(f.Fix) != steps {
		t.Fatalf("%d steps, want %d: %+v", len(f.Fix), steps, f.Fix)
	}
	if alsoOn != nil {
		alsoOn(w, f.Fix)
	}
	for _, step := range f.Fix {
		w.typed(step)
	}
	if m.steps < 0 {
		return
	}
	w.settle()
	if again := w.audit(); len(again.Findings) > 0 {
		t.Errorf("after %s\nfound %s", f.Fix[0].Command, listed(again.Findings))
	}
}

// found are the severities and the rules of what is found in a mutant.
func found(t *testing.T, m mutant) (all []string) {
	t.Helper()
	w := newWorld(t, m)
	w.settle(m.on...)
	r := w.audit()
	if len(r.NotChecked) > 0 {
		t.Fatalf("not checked: %+v", r.NotChecked)
	}
	for _, f := range r.Findings {
		all = append(all, string(f.Severity)+" "+f.Rule)
	}
	return all
}

// clean checks that nothing is found.
func clean(t *testing.T, mutants ...mutant) {
	t.Helper()
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			w := newWorld(t, m)
			w.settle(m.on...)
			if r := w.audit(); len(r.Findings)+len(r.NotChecked) > 0 || r.Workloads == 0 {
				t.Errorf("found %s in %d workloads, not checked %+v; want nothing", listed(r.Findings), r.Workloads, r.NotChecked)
			}
		})
	}
}

func listed(findings []Finding) string {
	var all []string
	for _, f := range findings {
		all = append(all, fmt.Sprintf("%s %s %s: %s", f.Severity, f.Rule, f.Object(), f.Evidence))
	}
	return "[" + strings.Join(all, "\n") + "]"
}

// world is an in-memory cluster with simple controllers and a simple scheduler.
type world struct {
	*testing.T
	ctx    context.Context
	client *fake.Clientset
	pods   int
}

func newWorld(t *testing.T, m mutant) *world {
	t.Helper()
	all := slices.Clone(m.more)
	nodes := fleet()
	if m.nodes != nil {
		m.nodes(nodes)
	}
	for _, n := range nodes {
		all = append(all, n)
	}
	objects, err := m.backend.Objects(place)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		o.SetUID(types.UID("uid of " + o.GetName()))
		switch o := o.(type) {
		case *policyv1.PodDisruptionBudget:
			if m.budget != nil {
				m.budget(o)
			}
		case *corev1.Service:
			if m.service != nil {
				m.service(o)
			}
		case *appsv1.Deployment:
			if m.harm != nil {
				m.harm(o)
			}
			if m.statefulSet {
				all = append(all, asStatefulSet(o))
				continue
			}
		}
		all = append(all, o)
	}
	return &world{T: t, ctx: t.Context(), client: fake.NewClientset(all...)}
}

// asStatefulSet returns a StatefulSet with the Deployment's template. Its pods have no pod-template-hash, so matchLabelKeys is
// empty.
func asStatefulSet(d *appsv1.Deployment) *appsv1.StatefulSet {
	s := &appsv1.StatefulSet{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: StatefulSet}, ObjectMeta: d.ObjectMeta,
		Spec: appsv1.StatefulSetSpec{Replicas: d.Spec.Replicas, Selector: d.Spec.Selector, Template: d.Spec.Template, ServiceName: d.Name},
	}
	for i := range s.Spec.Template.Spec.TopologySpreadConstraints {
		s.Spec.Template.Spec.TopologySpreadConstraints[i].MatchLabelKeys = nil
	}
	return s
}

func (w *world) audit() Report {
	w.Helper()
	c, err := Read(w.ctx, w.client, Scope{})
	if err != nil {
		w.Fatal(err)
	}
	return Audit(c, Options{})
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// settle replaces all pods, as a rollout does, on the given nodes, or where the scheduler puts them.
func (w *world) settle(on ...string) {
	w.Helper()
	all := metav1.ListOptions{}
	pods, err := w.client.CoreV1().Pods(shop).List(w.ctx, all)
	w.must(err)
	for _, p := range pods.Items {
		w.must(w.client.CoreV1().Pods(shop).Delete(w.ctx, p.Name, metav1.DeleteOptions{}))
	}
	old, err := w.client.AppsV1().ReplicaSets(shop).List(w.ctx, all)
	w.must(err)
	for _, r := range old.Items {
		w.must(w.client.AppsV1().ReplicaSets(shop).Delete(w.ctx, r.Name, metav1.DeleteOptions{}))
	}
	nodes, err := w.client.CoreV1().Nodes().List(w.ctx, all)
	w.must(err)
	deployments, err := w.client.AppsV1().Deployments(shop).List(w.ctx, all)
	w.must(err)
	for _, d := range deployments.Items {
		set := &appsv1.ReplicaSet{ObjectMeta: owned(d.Name+"-rs", "uid of set", Deployment, d.ObjectMeta)}
		_, err := w.client.AppsV1().ReplicaSets(shop).Create(w.ctx, set, metav1.CreateOptions{})
		w.must(err)
		template := d.Spec.Template.DeepCopy()
		template.Labels[revisionKey] = "1"
		w.bind(owner{"ReplicaSet", set.ObjectMeta}, *template, replicas(d.Spec.Replicas), nodes.Items, on)
	}
	sets, err := w.client.AppsV1().StatefulSets(shop).List(w.ctx, all)
	w.must(err)
	for _, s := range sets.Items {
		w.bind(owner{StatefulSet, s.ObjectMeta}, s.Spec.Template, replicas(s.Spec.Replicas), nodes.Items, on)
	}
}

type owner struct {
	kind string
	metav1.ObjectMeta
}

func owned(name string, uid types.UID, kind string, by metav1.ObjectMeta) metav1.ObjectMeta {
	yes := true
	return metav1.ObjectMeta{
		Namespace: shop, Name: name, UID: uid,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: by.Name, UID: by.UID, Controller: &yes}},
	}
}

func (w *world) bind(by owner, template corev1.PodTemplateSpec, replicas int, nodes []corev1.Node, on []string) {
	w.Helper()
	s := scheduler{nodes: nodes, pod: template, on: map[string]int{}}
	for i := range replicas {
		w.pods++
		name := fmt.Sprintf("%s-%d", by.Name, i)
		p := &corev1.Pod{ObjectMeta: owned(name, types.UID(fmt.Sprintf("uid of pod %d", w.pods)), by.kind, by.ObjectMeta), Spec: *template.Spec.DeepCopy()}
		p.Labels = template.Labels
		var why string
		if len(on) > 0 {
			p.Spec.NodeName = on[i%len(on)]
		} else {
			p.Spec.NodeName, why = s.pick()
		}
		p.Status.Phase = corev1.PodRunning
		if p.Spec.NodeName == "" {
			p.Status.Phase = corev1.PodPending
			p.Status.Conditions = []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
				Message: why, LastTransitionTime: metav1.NewTime(time.Now().Add(-12 * time.Minute)),
			}}
		}
		_, err := w.client.CoreV1().Pods(shop).Create(w.ctx, p, metav1.CreateOptions{})
		w.must(err)
	}
}

// scheduler places pods of one template, in the worst allowed way: without constraints and preferences, all go to the first
// node.
type scheduler struct {
	nodes []corev1.Node
	pod   corev1.PodTemplateSpec
	on    map[string]int
}

func (s *scheduler) pick() (node, why string) {
	best := -1
	var reasons []string
	for _, n := range s.nodes {
		reason := s.refuses(n)
		if reason != "" {
			reasons = append(reasons, "1 node(s) "+reason)
			continue
		}
		if wish := s.dislikes(n); best < 0 || wish < best {
			best, node = wish, n.Name
		}
	}
	if node == "" {
		slices.Sort(reasons)
		return "", fmt.Sprintf("0/%d nodes are available: %s.", len(s.nodes), strings.Join(slices.Compact(reasons), ", "))
	}
	s.on[node]++
	return node, ""
}

func (s *scheduler) selects(n corev1.Node) bool {
	for key, value := range s.pod.Spec.NodeSelector {
		if n.Labels[key] != value {
			return false
		}
	}
	return true
}

// counts returns the number of pods per domain, over the nodes for which counted is true.
func (s *scheduler) counts(key string, counted func(corev1.Node) bool) map[string]int {
	counts := map[string]int{}
	for _, n := range s.nodes {
		if value, labelled := n.Labels[key]; labelled && counted(n) {
			counts[value] += s.on[n.Name]
		}
	}
	return counts
}

func (s *scheduler) refuses(n corev1.Node) string {
	everywhere := func(corev1.Node) bool { return true }
	affinity := s.pod.Spec.Affinity
	switch {
	case !s.selects(n):
		return "didn't match Pod's node affinity/selector"
	case len(n.Spec.Taints) > 0 || n.Spec.Unschedulable:
		return "had untolerated taint"
	}
	for _, c := range s.pod.Spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable != corev1.DoNotSchedule {
			continue
		}
		counts := s.counts(c.TopologyKey, func(n corev1.Node) bool {
			noAffinity := c.NodeAffinityPolicy != nil && *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyIgnore
			taints := c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor
			return (noAffinity || s.selects(n)) && (!taints || len(n.Spec.Taints) == 0)
		})
		least := 1 << 30
		for _, k := range counts {
			least = min(least, k)
		}
		if c.MinDomains != nil && len(counts) < int(*c.MinDomains) {
			least = 0
		}
		if here, labelled := n.Labels[c.TopologyKey]; !labelled || counts[here]+1-least > int(c.MaxSkew) {
			return "didn't match pod topology spread constraints"
		}
	}
	if affinity != nil && affinity.PodAntiAffinity != nil {
		for _, t := range affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			if s.counts(t.TopologyKey, everywhere)[n.Labels[t.TopologyKey]] > 0 {
				return "didn't match pod anti-affinity rules"
			}
		}
	}
	if affinity != nil && affinity.PodAffinity != nil {
		for _, t := range affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			own := matches(t.LabelSelector, s.pod.Labels)
			if !own || len(s.on) > 0 && s.counts(t.TopologyKey, everywhere)[n.Labels[t.TopologyKey]] == 0 {
				return "didn't match pod affinity rules"
			}
		}
	}
	return ""
}

// dislikes returns how much preferences speak against a node; lower is better.
func (s *scheduler) dislikes(n corev1.Node) (much int) {
	everywhere := func(corev1.Node) bool { return true }
	for _, c := range s.pod.Spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable == corev1.ScheduleAnyway {
			much += s.counts(c.TopologyKey, everywhere)[n.Labels[c.TopologyKey]]
		}
	}
	if a := s.pod.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		for _, t := range a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
			much += s.counts(t.PodAffinityTerm.TopologyKey, everywhere)[n.Labels[t.PodAffinityTerm.TopologyKey]]
		}
	}
	return much
}

// kubectl is a program that prints its arguments and, if it creates something, its standard input. Each argument ends in a zero
// byte.
const kubectl = `#!/bin/sh
for word in "$@"; do printf '%s\0' "$word"; done
if [ "$1" = create ]; then cat; fi
`

// typed runs a step's command in a shell, checks what kubectl was called with, and applies the step.
func (w *world) typed(step Step) {
	w.Helper()
	dir := w.TempDir()
	w.must(os.WriteFile(filepath.Join(dir, "kubectl"), []byte(kubectl), 0o755))
	shell := exec.Command("sh", "-c", step.Command)
	shell.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	out, err := shell.Output()
	if err != nil {
		w.Fatalf("%s: %v", step.Command, err)
	}
	words := strings.Split(string(out), "\x00")
	patched, stdin := words[:len(words)-1], words[len(words)-1]
	var want []string
	t := step.Target
	kind := strings.ToLower(t.Kind)
	switch step.Do {
	case Patch:
		want = []string{"patch", kind, t.Name, "--namespace", t.Namespace, "--type", string(step.PatchType), "--patch", string(step.Body)}
		err = w.patch(step)
	case Create:
		want = []string{"create", "--filename", "-"}
		if !bytes.Equal([]byte(stdin), step.Body) {
			w.Errorf("creates %s, want %s", stdin, step.Body)
		}
		var b policyv1.PodDisruptionBudget
		w.must(yaml.UnmarshalStrict(step.Body, &b))
		_, err = w.client.PolicyV1().PodDisruptionBudgets(t.Namespace).Create(w.ctx, &b, metav1.CreateOptions{})
	case Delete:
		want = []string{"delete", kind, t.Name, "--namespace", t.Namespace}
		err = w.delete(t)
	case Restart: // settle replaces the pods
		want = []string{"rollout", "restart", kind + "/" + t.Name, "--namespace", t.Namespace}
	}
	w.must(err)
	if diff := cmp.Diff(want, patched); diff != "" {
		w.Errorf("%s\nis understood as (-want +got):\n%s", step.Command, diff)
	}
}

func (w *world) patch(step Step) (err error) {
	how := map[PatchType]types.PatchType{
		JSONPatch: types.JSONPatchType, MergePatch: types.MergePatchType, StrategicPatch: types.StrategicMergePatchType,
	}[step.PatchType]
	at, options := step.Target, metav1.PatchOptions{FieldValidation: metav1.FieldValidationStrict}
	switch at.Kind {
	case Deployment:
		_, err = w.client.AppsV1().Deployments(at.Namespace).Patch(w.ctx, at.Name, how, step.Body, options)
	case StatefulSet:
		_, err = w.client.AppsV1().StatefulSets(at.Namespace).Patch(w.ctx, at.Name, how, step.Body, options)
	case "PodDisruptionBudget":
		_, err = w.client.PolicyV1().PodDisruptionBudgets(at.Namespace).Patch(w.ctx, at.Name, how, step.Body, options)
	case "ConfigMap":
		_, err = w.client.CoreV1().ConfigMaps(at.Namespace).Patch(w.ctx, at.Name, how, step.Body, options)
	case kindAutoscaler:
		_, err = w.client.AutoscalingV2().HorizontalPodAutoscalers(at.Namespace).Patch(w.ctx, at.Name, how, step.Body, options)
	case "Service":
		_, err = w.client.CoreV1().Services(at.Namespace).Patch(w.ctx, at.Name, how, step.Body, options)
	default:
		err = fmt.Errorf("patch %s: unexpected kind", at.Kind)
	}
	return err
}

func (w *world) delete(at Target) error {
	options := metav1.DeleteOptions{}
	switch at.Kind {
	case "Pod":
		return w.client.CoreV1().Pods(at.Namespace).Delete(w.ctx, at.Name, options)
	case "EndpointSlice":
		return w.client.DiscoveryV1().EndpointSlices(at.Namespace).Delete(w.ctx, at.Name, options)
	case "PodDisruptionBudget":
		return w.client.PolicyV1().PodDisruptionBudgets(at.Namespace).Delete(w.ctx, at.Name, options)
	}
	return fmt.Errorf("delete %s: unexpected kind", at.Kind)
}
