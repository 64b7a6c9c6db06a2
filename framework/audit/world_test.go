package audit

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/placement"
	"github.com/holdfast-ha/holdfast/framework/observe"
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

// setup is a workload with what surrounds it.
type setup struct {
	deployment  *appsv1.Deployment
	service     *corev1.Service
	budget      *policyv1.PodDisruptionBudget // nil: it has none
	nodes       []*corev1.Node
	more        []runtime.Object
	statefulSet bool     // the Deployment becomes a StatefulSet
	on          []string // nodes that its pods run on; none: the scheduler picks
}

// change changes a setup before it is created.
type change func(*setup)

func asSet(s *setup) { s.statefulSet = true }

func on(nodes ...string) change { return func(s *setup) { s.on = nodes } }

func with(objects ...runtime.Object) change {
	return func(s *setup) { s.more = append(s.more, objects...) }
}

// beside adds another workload.
func beside(w interface {
	Objects(workloads.Place) ([]workloads.Object, error)
}) change {
	return func(s *setup) {
		objects, err := w.Objects(place)
		if err != nil {
			panic(err)
		}
		for _, o := range objects {
			o.SetUID(types.UID("uid of " + o.GetName()))
			s.more = append(s.more, o)
		}
	}
}

func inDeployment(f func(*appsv1.Deployment)) change { return func(s *setup) { f(s.deployment) } }

func inPod(f func(*corev1.PodSpec)) change {
	return func(s *setup) { f(&s.deployment.Spec.Template.Spec) }
}

func inContainer(f func(*corev1.Container)) change {
	return inPod(func(p *corev1.PodSpec) { f(&p.Containers[0]) })
}

func inService(f func(*corev1.Service)) change { return func(s *setup) { f(s.service) } }

func inBudget(f func(*policyv1.PodDisruptionBudget)) change { return func(s *setup) { f(s.budget) } }

func ifHealthy(b *policyv1.PodDisruptionBudget) { b.Spec.UnhealthyPodEvictionPolicy = nil }

// inNodes changes some nodes; without names, all.
func inNodes(f func(*corev1.Node), names ...string) change {
	return func(s *setup) {
		for _, n := range s.nodes {
			if len(names) == 0 || slices.Contains(names, n.Name) {
				f(n)
			}
		}
	}
}

// labelled gives nodes a label; an empty value removes it.
func labelled(key, value string, names ...string) change {
	return inNodes(func(n *corev1.Node) {
		if n.Labels[key] = value; value == "" {
			delete(n.Labels, key)
		}
	}, names...)
}

func cordoned(names ...string) change {
	return inNodes(func(n *corev1.Node) { n.Spec.Unschedulable = true }, names...)
}

func tainted(key string, names ...string) change {
	return inNodes(func(n *corev1.Node) {
		n.Spec.Unschedulable = key == corev1.TaintNodeUnschedulable
		n.Spec.Taints = []corev1.Taint{{Key: key, Effect: corev1.TaintEffectNoSchedule}}
	}, names...)
}

var (
	// anywhere lets the pods go to any node whose taints allow it, and atEdge puts the tainted nodes into a zone of their own.
	anywhere = inPod(func(p *corev1.PodSpec) { p.NodeSelector = nil })
	atEdge   = labelled(zoneKey, "edge", "cp", "load")
	recreate = inDeployment(func(d *appsv1.Deployment) {
		d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	})
	claim  = volume(corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}, false)
	mounts = volume(corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "proxy"}}}, true)
	// undeclared containers do not declare their ports.
	undeclared = inContainer(func(c *corev1.Container) { c.Ports = nil })
	hostPorts  = inContainer(func(c *corev1.Container) { c.Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 8080}} })
)

// unserved gives the pods labels that no Service selects. A budget of the whole namespace covers them.
func unserved(s *setup) {
	d := s.deployment
	d.Spec.Selector.MatchLabels, d.Spec.Template.Labels = worker, maps.Clone(worker)
	for i := range d.Spec.Template.Spec.TopologySpreadConstraints {
		d.Spec.Template.Spec.TopologySpreadConstraints[i].LabelSelector = &metav1.LabelSelector{MatchLabels: worker}
	}
	s.budget = budget(shop, "everybody", everything)
}

func volume(source corev1.VolumeSource, readOnly bool) change {
	return inPod(func(p *corev1.PodSpec) {
		p.Volumes = append(p.Volumes, corev1.Volume{Name: "data", VolumeSource: source})
		p.Containers[0].VolumeMounts = append(p.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "data", MountPath: "/data", ReadOnly: readOnly})
	})
}

// hosted gives the first container a folder of its node.
func hosted(path string, readOnly bool) change {
	return volume(corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path}}, readOnly)
}

func image(name string) change { return inContainer(func(c *corev1.Container) { c.Image = name }) }

func args(words ...string) change { return inContainer(func(c *corev1.Container) { c.Args = words }) }

func variable(name, value string) change {
	return inContainer(func(c *corev1.Container) { c.Env = []corev1.EnvVar{{Name: name, Value: value}} })
}

func sidecar(c corev1.Container) change {
	return inPod(func(p *corev1.PodSpec) {
		always := corev1.ContainerRestartPolicyAlways
		c.RestartPolicy = &always
		p.InitContainers = append(p.InitContainers, c)
	})
}

// port names the port that the Service leads to.
func port(name string) change {
	return func(s *setup) {
		c := &s.deployment.Spec.Template.Spec.Containers[0]
		c.Ports[0].Name, s.service.Spec.Ports[0].TargetPort = name, intstr.FromString(name)
		if c.ReadinessProbe != nil {
			c.ReadinessProbe.HTTPGet.Port = intstr.FromString(name)
		}
	}
}

func sleep(seconds int64) *corev1.Lifecycle {
	return &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: seconds}}}
}

func command(words ...string) *corev1.Lifecycle {
	return &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: words}}}
}

func preStop(grace int64, hook *corev1.Lifecycle) change {
	return inPod(func(p *corev1.PodSpec) { p.TerminationGracePeriodSeconds, p.Containers[0].Lifecycle = &grace, hook })
}

// behind lets the Service lead to a proxy, and the backend listen elsewhere behind it.
func behind(isSidecar bool, proxy, app *corev1.Lifecycle) change {
	return func(s *setup) {
		pod := &s.deployment.Spec.Template.Spec
		front := corev1.Container{Name: "proxy", Image: "x", Ports: pod.Containers[0].Ports, ReadinessProbe: pod.Containers[0].ReadinessProbe, Lifecycle: proxy}
		pod.Containers[0].Ports, pod.Containers[0].Lifecycle = []corev1.ContainerPort{{ContainerPort: 9999}}, app
		if isSidecar {
			sidecar(front)(s)
		} else {
			pod.Containers = append(pod.Containers, front)
		}
	}
}

// live gives the backend a liveness probe that asks what its readiness probe asks, which fails after ten seconds.
func live(seconds, times int32) change {
	return inContainer(func(c *corev1.Container) {
		c.ReadinessProbe.PeriodSeconds, c.ReadinessProbe.FailureThreshold = 2, 5
		c.LivenessProbe = c.ReadinessProbe.DeepCopy()
		c.LivenessProbe.PeriodSeconds, c.LivenessProbe.FailureThreshold = seconds, times
	})
}

// publishing adds a Service like the backend's that publishes pods which are not ready.
func publishing(name string, f func(*corev1.ServiceSpec)) change {
	return func(s *setup) {
		more := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: name}, Spec: *s.service.Spec.DeepCopy()}
		more.Spec.PublishNotReadyAddresses = true
		f(&more.Spec)
		s.more = append(s.more, more)
	}
}

// scaled adds an autoscaler of an object; least below 0: minReplicas is not set.
func scaled(kind, name string, least, most int32) change {
	h := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: "scaler"}}
	h.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: kind, Name: name}
	if h.Spec.MaxReplicas = most; least >= 0 {
		h.Spec.MinReplicas = &least
	}
	return with(h)
}

func quota(name corev1.ResourceName, hard, used string, more ...func(*corev1.ResourceQuota)) change {
	q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "team", Namespace: shop}}
	q.Status.Hard, q.Status.Used = corev1.ResourceList{name: resource.MustParse(hard)}, corev1.ResourceList{name: resource.MustParse(used)}
	for _, f := range more {
		f(q)
	}
	return with(q)
}

// astray adds a budget that covers no pod.
func astray(selector *metav1.LabelSelector, more ...func(*policyv1.PodDisruptionBudget)) change {
	b := budget(shop, "cart", selector)
	b.Status.ExpectedPods = 0
	for _, f := range more {
		f(b)
	}
	return with(b)
}

// world is an in-memory cluster with simple controllers and a simple scheduler.
type world struct {
	*testing.T
	ctx    context.Context
	client *fake.Clientset
	pods   int
}

// newWorld is a cluster with a backend, whose pods have been placed.
func newWorld(t *testing.T, b workloads.Backend, changes ...change) *world {
	t.Helper()
	objects, err := b.Objects(place)
	if err != nil {
		t.Fatal(err)
	}
	s := setup{nodes: fleet()}
	for _, o := range objects {
		o.SetUID(types.UID("uid of " + o.GetName()))
		switch o := o.(type) {
		case *policyv1.PodDisruptionBudget:
			s.budget = o
		case *corev1.Service:
			s.service = o
		case *appsv1.Deployment:
			s.deployment = o
		}
	}
	for _, c := range changes {
		c(&s)
	}
	all := append(slices.Clone(s.more), s.service)
	for _, n := range s.nodes {
		all = append(all, n)
	}
	if s.budget != nil {
		all = append(all, s.budget)
	}
	if s.statefulSet {
		all = append(all, asStatefulSet(s.deployment))
	} else {
		all = append(all, s.deployment)
	}
	w := &world{T: t, ctx: t.Context(), client: fake.NewClientset(all...)}
	w.settle(s.on...)
	return w
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

func (w *world) read() Cluster {
	w.Helper()
	c, err := Read(w.ctx, w.client, Scope{})
	w.must(err)
	return c
}

func (w *world) audit() Report {
	w.Helper()
	return Audit(w.read(), Options{})
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
		set := &appsv1.ReplicaSet{ObjectMeta: owned(d.Name+"-rs", types.UID("uid of set "+d.Name), Deployment, d.ObjectMeta)}
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

func listed(findings []Finding) string { return outcome(Report{Findings: findings, Workloads: 1}) }

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
	s := scheduler{nodes: nodes, on: map[string]int{}}
	for i := range nodes {
		s.run.Events = append(s.run.Events, observe.ListedNode(&nodes[i]))
	}
	for i := range replicas {
		w.pods++
		name := fmt.Sprintf("%s-%d", by.Name, i)
		p := &corev1.Pod{ObjectMeta: owned(name, types.UID(fmt.Sprintf("uid of pod %d", w.pods)), by.kind, by.ObjectMeta), Spec: *template.Spec.DeepCopy()}
		p.Labels = template.Labels
		var why string
		if len(on) > 0 {
			p.Spec.NodeName = on[i%len(on)]
		} else {
			p.Spec.NodeName, why = s.pick(*p)
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

// scheduler places pods by the rules of package placement, in the worst allowed way: without preferences, all go to the first node.
type scheduler struct {
	nodes []corev1.Node
	run   history.Run
	on    map[string]int
}

// reasons are kube-scheduler's messages for rules, by how package placement describes them.
var reasons = map[string]string{
	"which its node selector": becauseOfNodeSelector, "whose taint": "had untolerated taint", "which was cordoned": "were unschedulable",
	"against maxSkew": becauseOfSpread, "against its anti-affinity": becauseOfApart, "against its affinity": becauseOfAffinity,
}

// pick returns the node for a pod; without one, it says why.
func (s *scheduler) pick(p corev1.Pod) (node, why string) {
	best, refused, rules := -1, []string{}, placement.NewLedger(s.run)
	for _, n := range s.nodes {
		p.Spec.NodeName = n.Name
		v, _, err := rules.Would(*observe.ListedPod(&p).Pod)
		if err != nil {
			return "", err.Error()
		}
		for words, reason := range reasons {
			if v.Broken != evidence.No && strings.HasPrefix(v.Words, words) {
				refused = append(refused, "1 node(s) "+reason)
			}
		}
		if wish := s.dislikes(p.Spec, n); v.Broken == evidence.No && (best < 0 || wish < best) {
			best, node = wish, n.Name
		}
	}
	if node == "" {
		slices.Sort(refused)
		return "", fmt.Sprintf("0/%d nodes are available: %s.", len(s.nodes), strings.Join(slices.Compact(refused), ", "))
	}
	p.Spec.NodeName = node
	s.run.Events = append(s.run.Events, observe.ListedPod(&p))
	s.on[node]++
	return node, ""
}

// dislikes returns how much preferences speak against a node; lower is better.
func (s *scheduler) dislikes(pod corev1.PodSpec, n corev1.Node) (much int) {
	var keys []string
	for _, c := range pod.TopologySpreadConstraints {
		if c.WhenUnsatisfiable == corev1.ScheduleAnyway {
			keys = append(keys, c.TopologyKey)
		}
	}
	if a := pod.Affinity; a != nil && a.PodAntiAffinity != nil {
		for _, t := range a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
			keys = append(keys, t.PodAffinityTerm.TopologyKey)
		}
	}
	for _, key := range keys {
		for _, other := range s.nodes {
			if other.Labels[key] == n.Labels[key] {
				much += s.on[other.Name]
			}
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

func (w *world) patch(step Step) error {
	how := step.PatchType.API()
	at, options := step.Target, metav1.PatchOptions{FieldValidation: metav1.FieldValidationStrict}
	resource, known := ResourceOf(at.Kind)
	if !known {
		return fmt.Errorf("patch %s: unexpected kind", at.Kind)
	}
	_, err := w.client.Invokes(k8stesting.NewPatchActionWithOptions(resource, at.Namespace, at.Name, how, step.Body, options), nil)
	return err
}

func (w *world) delete(at Target) error {
	resource, known := ResourceOf(at.Kind)
	if at.Kind == "Pod" {
		resource, known = corev1.SchemeGroupVersion.WithResource("pods"), true
	}
	if !known {
		return fmt.Errorf("delete %s: unexpected kind", at.Kind)
	}
	_, err := w.client.Invokes(k8stesting.NewDeleteAction(resource, at.Namespace, at.Name), nil)
	return err
}
