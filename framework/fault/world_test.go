package fault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/history"
)

var deployments = appsv1.SchemeGroupVersion.WithResource("deployments")

// world is a fake cluster in which controllers act at once, or after a while: it proves what a fault asks for and what
// it waits for. That the real ones behave is proven on real clusters.
type world struct {
	client   *fake.Clientset
	nodes    []clusters.Node
	seen     []string
	steps    []string
	healed   []string
	hit      int // probes
	seenPods []string
	gone     int // processes of a component
	// lasting is the witness that is asked before the undo.
	lasting func(context.Context) (bool, string, error)

	patches []string // of the Deployment
	scales  []int

	mu          sync.Mutex
	made        int
	frozen      bool              // controllers do nothing: no disturbance ever shows
	deaf        bool              // the API server says yes to all that is asked, and changes nothing
	lag         time.Duration     // so much later do controllers act; until then, what was deleted is going
	evictable   int               // how many evictions the budget still grants
	kind        string            // of the workload, if it is no Deployment
	stubborn    bool              // pods are placed on closed nodes, too
	stale       bool              // endpoints stay as they are
	shrink      string            // so little processor time does a filler get
	ofBad       func(*corev1.Pod) // what is said of the pods of a bad version; nil: what is usual
	unprobed    bool              // what is started is ready
	starting    bool              // what is made is never started
	configFiles bool              // the change of a configuration is where running pods see it
	late        string            // the UID of a pod that never sees it
	untainted   bool              // the node controller sees no pressure
	evictor     string            // what a kubelet's evictions are ascribed to
	presses     int               // of kubelets that were restarted under pressure; a pending one is called off by the next

	unmeasured bool     // the autoscaler has no metrics
	unmoved    bool     // autoscalers change nothing
	vertical   []string // what became of the vertical autoscaler

	components components // of Kubernetes

	reached []history.Reach
}

func newWorld(replicas int, workers ...string) *world {
	w := &world{evictable: 1000, evictor: corev1.PodReasonTerminationByKubelet}
	labels := map[string]string{"app": "backend"}
	n := int32(replicas)
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "backend", Namespace: "ns", ResourceVersion: "7"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &n, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				Containers: []corev1.Container{{
					Name: "server", Image: "backend:1", Args: goodArgs, Resources: corev1.ResourceRequirements{Requests: cpu("5m")},
				}},
				TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
					MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule,
					LabelSelector: &metav1.LabelSelector{MatchLabels: labels}, MinDomains: new(int32(2)),
				}},
			}},
		},
	}
	w.client = fake.NewClientset(d)
	w.client.Resources = []*metav1.APIResourceList{{GroupVersion: "v1", APIResources: []metav1.APIResource{
		{Name: "pods/eviction", Kind: "Eviction", Group: "policy", Version: "v1"}, // which kubectl looks for
	}}}
	for _, name := range workers { // wax and way are in one zone
		w.nodes = append(w.nodes, &machine{
			name: name, zone: strings.TrimRight(name, "xy"), state: clusters.Running, kubelet: &kubelet{world: w, node: name, config: calmConfig},
			network: network{world: w, ip: machineIP(len(w.nodes) + 1)},
		})
		_ = w.client.Tracker().Add(&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{PodCIDR: podRange(len(w.nodes))}, Status: corev1.NodeStatus{
				Addresses:   []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: machineIP(len(w.nodes))}},
				Allocatable: cpu("2"), Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			},
		})
	}
	w.client.PrependReactor("update", "deployments", w.scaled)
	w.client.PrependReactor("get", "deployments", w.scaleOf)
	w.client.PrependReactor("patch", "deployments", w.rolled)
	w.client.PrependReactor("patch", "pods", w.resized)
	w.client.PrependReactor("patch", "configmaps", w.configured)
	w.client.PrependReactor("patch", "secrets", w.configured)
	w.client.PrependReactor("create", "horizontalpodautoscalers", w.autoscaled)
	w.client.PrependReactor("update", "horizontalpodautoscalers", w.autoscaled)
	w.client.PrependReactor("list", "pods", w.owned)
	w.client.PrependReactor("list", "pods", w.onNode)
	w.client.PrependReactor("delete", "pods", w.deleted)
	w.client.PrependReactor("create", "pods", w.evicted)
	w.client.PrependReactor("patch", "nodes", w.cordon)
	w.reconcile(nil)
	return w
}

func cpu(amount string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(amount)}
}

func (w *world) target() Target {
	return Target{
		Cluster: fleet{nodes: w.nodes}, Client: w.client, Dynamic: w.dynamic(), Namespace: "ns", Workload: "backend",
		Rand: rand.New(rand.NewPCG(1, 2)), Record: w,
	}
}

// inject plans and applies a fault in a world, and returns its revert.
func inject(ctx context.Context, f Fault, target Target) (revert func(context.Context) error, err error) {
	w := target.Record.(*world)
	in, err := Plan(ctx, f, target)
	if err == nil {
		err = in.Apply(ctx, w.observe)
	}
	w.lasting = nil
	if in.Askable() {
		w.lasting = in.Active
	}
	return func(ctx context.Context) error {
		return in.Revert(ctx, func(witness string) { w.healed = append(w.healed, witness) })
	}, err
}

func (w *world) observe(o Observation) {
	w.seen = append(w.seen, fmt.Sprintf("nodes=%v pods=%d %s", o.Nodes, len(o.Pods), o.Witness))
	w.seenPods, w.hit, w.gone = o.Pods, o.Hit, o.Processes
}

// Note implements Recorder.
func (w *world) Note(e history.Event) {
	if e.Reach != nil {
		w.reached = append(w.reached, *e.Reach)
	}
}

// Step implements Recorder.
func (w *world) Step(s history.Step, do func() error) error {
	w.steps = append(w.steps, s.Node+": "+s.What)
	return do()
}

func (w *world) deployment() *appsv1.Deployment {
	o, err := w.client.Tracker().Get(deployments, "ns", "backend")
	if err != nil {
		panic(err)
	}
	return o.(*appsv1.Deployment).DeepCopy()
}

// podNames are those of the good version.
func (w *world) podNames() []string {
	return slices.DeleteFunc(w.allNames(), func(name string) bool { return strings.HasPrefix(name, "bad-") })
}

func (w *world) allNames() []string {
	list, err := w.client.Tracker().List(corev1.SchemeGroupVersion.WithResource("pods"),
		corev1.SchemeGroupVersion.WithKind("Pod"), "ns")
	if err != nil {
		panic(err)
	}
	var names []string
	for _, p := range list.(*corev1.PodList).Items {
		if p.Labels["app"] == "backend" && !ended(p) {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	return names
}

// reconcile is every controller in one. The caller holds the lock, if there is anybody else.
func (w *world) reconcile(remove []string) {
	switch {
	case w.frozen || w.deaf:
	case w.lag == 0:
		w.act(remove)
	default:
		for _, name := range remove {
			w.send(name)
		}
		time.AfterFunc(w.lag, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.act(remove)
		})
	}
}

// send has a pod begin to go. Nobody but the API server knows yet.
func (w *world) send(name string) {
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	if o, err := w.client.Tracker().Get(pods, "ns", name); err == nil {
		p := o.(*corev1.Pod).DeepCopy()
		now := metav1.Now()
		p.DeletionTimestamp = &now
		_ = w.client.Tracker().Update(pods, p, "ns")
	}
}

// act removes the pods named, makes as many as are wanted on schedulable nodes, and brings status and endpoints up to
// date.
func (w *world) act(remove []string) {
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	for _, name := range remove {
		_ = w.client.Tracker().Delete(pods, "ns", name)
	}
	d := w.deployment()
	n := *d.Spec.Replicas
	d.Status = appsv1.DeploymentStatus{
		UpdatedReplicas: n, AvailableReplicas: n, Replicas: n, ReadyReplicas: n, ObservedGeneration: d.Generation,
	}
	w.scaleTo(int(n), w.podNames, w.pod)
	if w.isBad(d) {
		d.Status.UpdatedReplicas, d.Status.UnavailableReplicas = surge, surge
		w.scaleTo(surge, w.badNames, w.badPod)
	} else {
		w.scaleTo(0, w.replaceable, nil)
	}
	_ = w.client.Tracker().Update(deployments, d, "ns")
	w.publish()
}

// scaleTo deletes the first of some pods, or makes more of them.
func (w *world) scaleTo(n int, names func() []string, fresh func() *corev1.Pod) {
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	for len(names()) > n {
		_ = w.client.Tracker().Delete(pods, "ns", names()[0])
	}
	for len(names()) < n {
		w.made++
		_ = w.client.Tracker().Add(fresh())
	}
}

// place picks a schedulable node in turn.
func (w *world) place() string {
	var open []string
	for _, n := range w.nodes {
		o, err := w.client.Tracker().Get(corev1.SchemeGroupVersion.WithResource("nodes"), "", n.Name())
		if err == nil && (w.stubborn || !o.(*corev1.Node).Spec.Unschedulable && len(o.(*corev1.Node).Spec.Taints) == 0) {
			open = append(open, n.Name())
		}
	}
	if len(open) == 0 {
		return ""
	}
	return open[w.made%len(open)]
}

func (w *world) publish() {
	if w.stale {
		return
	}
	yes := true
	s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Name: "backend-1", Namespace: "ns", Labels: map[string]string{discoveryv1.LabelServiceName: "backend"},
	}}
	names := w.podNames()
	if w.unprobed {
		names = w.allNames()
	}
	for _, name := range names {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			Conditions: discoveryv1.EndpointConditions{Ready: &yes}, TargetRef: &corev1.ObjectReference{Name: name},
		})
	}
	slices := discoveryv1.SchemeGroupVersion.WithResource("endpointslices")
	if w.client.Tracker().Update(slices, s, "ns") != nil {
		_ = w.client.Tracker().Add(s)
	}
}

func (w *world) scaleOf(a k8stesting.Action) (bool, runtime.Object, error) {
	if a.GetSubresource() != "scale" {
		return false, nil, nil
	}
	return true, &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: *w.deployment().Spec.Replicas}}, nil
}

func (w *world) scaled(a k8stesting.Action) (bool, runtime.Object, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	scale, ok := a.(k8stesting.UpdateAction).GetObject().(*autoscalingv1.Scale)
	if !ok {
		return false, nil, nil
	}
	w.scales = append(w.scales, int(scale.Spec.Replicas))
	if w.deaf {
		return true, scale, nil
	}
	d := w.deployment()
	d.Spec.Replicas = &scale.Spec.Replicas
	d.Generation++
	_ = w.client.Tracker().Update(deployments, d, "ns")
	w.reconcile(nil)
	return true, scale, nil
}

func (w *world) rolled(a k8stesting.Action) (bool, runtime.Object, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	patch := string(a.(k8stesting.PatchAction).GetPatch())
	if a.(k8stesting.PatchAction).GetPatchType() == types.StrategicMergePatchType {
		return w.commanded(patch)
	}
	if !strings.Contains(patch, rolloutAnnotation) {
		return true, nil, errors.New("a patch that is no rollout")
	}
	w.patches = append(w.patches, patch)
	if !w.deaf {
		d := w.deployment()
		d.Generation++
		if err := annotated(d, patch); err != nil {
			return true, nil, err
		}
		_ = w.client.Tracker().Update(deployments, d, "ns")
	}
	w.reconcile(w.podNames())
	return true, w.deployment(), nil
}

// annotated has a merge patch change the annotations of the pod template: a key that is null goes.
func annotated(d *appsv1.Deployment, patch string) error {
	var change struct {
		Spec struct {
			Template struct {
				Metadata struct{ Annotations map[string]*string }
			}
		}
	}
	if err := json.Unmarshal([]byte(patch), &change); err != nil {
		return err
	}
	for key, value := range change.Spec.Template.Metadata.Annotations {
		if value == nil {
			delete(d.Spec.Template.Annotations, key)
			continue
		}
		metav1.SetMetaDataAnnotation(&d.Spec.Template.ObjectMeta, key, *value)
	}
	return nil
}

func (w *world) deleted(a k8stesting.Action) (bool, runtime.Object, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reconcile([]string{a.(k8stesting.DeleteAction).GetName()})
	return true, nil, nil
}

// owned gives each pod that names no controller to the workload, whichever kind it is of now.
func (w *world) owned(k8stesting.Action) (bool, runtime.Object, error) {
	all, err := w.client.Tracker().List(corev1.SchemeGroupVersion.WithResource("pods"), corev1.SchemeGroupVersion.WithKind("Pod"), "ns")
	list := all.(*corev1.PodList).DeepCopy()
	for i := range list.Items {
		if p := &list.Items[i]; p.OwnerReferences == nil {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: w.kind, Name: "backend", Controller: new(true)}}
			if w.kind == "" {
				p.OwnerReferences[0].Kind, p.OwnerReferences[0].Name = "ReplicaSet", "backend-5d"
				p.Labels = maps.Clone(p.Labels)
				if p.Labels != nil {
					p.Labels["pod-template-hash"] = "5d"
				}
			}
		}
	}
	return true, list, err
}

// onNode answers what the tracker cannot: which pods are on a node. kubectl's drain asks so.
func (w *world) onNode(a k8stesting.Action) (bool, runtime.Object, error) {
	node, found := a.(k8stesting.ListAction).GetListRestrictions().Fields.RequiresExactMatch("spec.nodeName")
	if !found {
		return false, nil, nil
	}
	all, err := w.client.Tracker().List(corev1.SchemeGroupVersion.WithResource("pods"),
		corev1.SchemeGroupVersion.WithKind("Pod"), "ns")
	list := all.(*corev1.PodList).DeepCopy()
	list.Items = slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.Spec.NodeName != node })
	return true, list, err
}

func (w *world) evicted(a k8stesting.Action) (bool, runtime.Object, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if a.GetSubresource() != "eviction" {
		return true, nil, w.run(a.(k8stesting.CreateAction).GetObject().(*corev1.Pod).DeepCopy())
	}
	if w.evictable == 0 {
		return true, nil, apierrors.NewTooManyRequests("the budget forbids it", 0)
	}
	w.evictable--
	w.reconcile([]string{a.(k8stesting.CreateAction).GetObject().(*policyv1.Eviction).Name})
	return true, nil, nil
}

// run is the scheduler and the kubelet for a pod of nobody's.
func (w *world) run(pod *corev1.Pod) error {
	if w.deaf {
		return nil
	}
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	pod.Namespace, pod.Status.Phase = "ns", corev1.PodPending
	if w.shrink != "" {
		pod.Spec.Containers[0].Resources.Requests = cpu(w.shrink)
	}
	err := w.client.Tracker().Add(pod.DeepCopy())
	start := func() {
		pod.Spec.NodeName, pod.Status.Phase = pod.Spec.NodeSelector[corev1.LabelHostname], corev1.PodRunning
		_ = w.client.Tracker().Update(pods, pod, "ns") // unless it is gone by then
	}
	switch {
	case err != nil || w.frozen:
	case w.lag == 0:
		start()
	default:
		time.AfterFunc(w.lag, start)
	}
	return err
}

// cordon does what it is asked to, unless nobody listens.
func (w *world) cordon(k8stesting.Action) (bool, runtime.Object, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.deaf, &corev1.Node{}, nil
}

func (w *world) cordoned() (names []string) {
	for _, n := range w.nodes {
		o, _ := w.client.Tracker().Get(corev1.SchemeGroupVersion.WithResource("nodes"), "", n.Name())
		if o.(*corev1.Node).Spec.Unschedulable {
			names = append(names, n.Name())
		}
	}
	return names
}

// unsettle makes the status say that the controller has not caught up, as it is between a request and its effect.
func (w *world) unsettle() {
	d := w.deployment()
	d.Status.UpdatedReplicas = 0
	_ = w.client.Tracker().Update(deployments, d, "ns")
}

// fleet is a cluster of machines; what it does not need panics.
type fleet struct {
	clusters.Cluster
	nodes []clusters.Node
}

func (f fleet) Name() string           { return "fleet" }
func (f fleet) Nodes() []clusters.Node { return f.nodes }

type machine struct {
	clusters.Node
	name     string
	zone     string        // each its own, unless told otherwise
	role     clusters.Role // empty: a worker
	immortal bool          // Kill says yes and does nothing
	talks    bool          // its kubelet answers whatever the engine says
	lag      time.Duration // so much later does it die
	err      error         // what every verb answers
	killErr  error         // what Kill answers
	starts   int
	kubelet  *kubelet
	exec     func(m *machine, command []string) ([]byte, error) // instead of the kubelet's commands
	network  network

	mu    sync.Mutex
	state clusters.NodeState
}

func (m *machine) Name() string { return m.name }
func (m *machine) Zone() string { return m.zone }

func (m *machine) Role() clusters.Role {
	if m.role == "" {
		return clusters.Worker
	}
	return m.role
}

func (m *machine) Kill(context.Context) error  { return m.take(clusters.Exited) }
func (m *machine) Stop(context.Context) error  { return m.take(clusters.Exited) }
func (m *machine) Pause(context.Context) error { return m.take(clusters.Paused) }

// take does what it is asked to, unless the machine is immortal.
func (m *machine) take(state clusters.NodeState) error {
	switch {
	case m.immortal || m.err != nil || m.killErr != nil:
	case m.lag == 0:
		m.set(state)
	default:
		time.AfterFunc(m.lag, func() { m.set(state) })
	}
	return errors.Join(m.err, m.killErr)
}

// Resume thaws a machine. One that does not run cannot be thawed, and Start does not thaw one.
func (m *machine) Resume(context.Context) error {
	if m.is() == clusters.Exited {
		return errors.New("it is not paused")
	}
	m.set(clusters.Running)
	return m.err
}

func (m *machine) is() clusters.NodeState {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state
}

func (m *machine) Start(context.Context) error {
	m.starts++
	if m.is() == clusters.Paused {
		return errors.New("it is paused")
	}
	m.set(clusters.Running)
	return m.err
}

func (m *machine) set(state clusters.NodeState) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state = state
}

func (m *machine) State(context.Context) (clusters.NodeState, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state, m.err
}

func (m *machine) Silent(ctx context.Context) (bool, error) {
	state, err := m.State(ctx)
	return state != clusters.Running && !m.talks, err
}
