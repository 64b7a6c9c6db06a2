package disturb

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/safety/capacity"
	"github.com/holdfast-ha/holdfast/framework/safety/catalogue"
)

// world is a cluster of three workers and a control plane, with a shop of three pods under a budget, on which every fault goes.
type world struct {
	Request
	Snapshot
}

const (
	shop  = "shop"
	image = "docker.io/shop/web:1"
)

func newWorld(faults ...string) *world {
	w := &world{
		Request: Request{
			UID: "cluster-1", Context: "staging", Disturb: true, Namespace: shop, Home: "holdfast",
			Workloads: []Object{{Kind: KindDeployment, Name: "web"}}, Hook: Hook{Command: "halt", Undo: "start"},
			Load: []Load{{Name: "fresh", Rate: GentleRate}},
		},
		Snapshot: Snapshot{
			Cluster: Cluster{Server: "https://staging:6443", Context: "staging", UID: "cluster-1", User: "jane", Version: "v1.36.3"},
			Taken:   time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC), // a Wednesday
			Rights:  map[existing.Permission]bool{}, Admitted: map[Object]error{}, Claims: map[capacity.Claim]corev1.PersistentVolume{},
			Namespaces: []corev1.Namespace{
				{ObjectMeta: metav1.ObjectMeta{Name: shop, UID: "ns-shop", Labels: map[string]string{KeyLabel: Allowed}}},
				{ObjectMeta: metav1.ObjectMeta{Name: "mail", UID: "ns-mail", Labels: map[string]string{KeyLabel: Allowed}}},
			},
		},
	}
	var err error
	if w.Faults, err = catalogue.Named(faults); err != nil {
		panic(err)
	}
	w.Nodes = append(w.Nodes, node("cp"), node("w1"), node("w2"), node("w3"))
	w.Nodes[0].Labels["node-role.kubernetes.io/control-plane"] = ""
	w.Nodes[0].Spec.Taints = []corev1.Taint{{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}}
	w.deploy(shop, "web", "w1", "w2", "w3")
	w.allow()
	return w
}

func node(name string) corev1.Node {
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	return corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("node-" + name), Labels: map[string]string{corev1.LabelHostname: name}},
		Status: corev1.NodeStatus{
			Allocatable: room, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			Images: []corev1.ContainerImage{{Names: []string{image}}},
		},
	}
}

// deploy adds a Deployment with a pod on each of the nodes, and its budget.
func (w *world) deploy(namespace, name string, nodes ...string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	replicas, one := int32(len(nodes)), intstr.FromInt32(1)
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "web", Image: image, ImagePullPolicy: corev1.PullIfNotPresent,
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")}},
		}}},
	}
	uid := types.UID(namespace + "-" + name)
	d := appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: uid, Generation: 2,
			ManagedFields: []metav1.ManagedFieldsEntry{managedBy("kubectl-client-side-apply", `{"f:spec":{"f:replicas":{},"f:template":{"f:spec":{}}}}`)},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template,
			Strategy: appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &one, MaxUnavailable: &one}},
		},
		Status: appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: replicas, UpdatedReplicas: replicas, ReadyReplicas: replicas, AvailableReplicas: replicas},
	}
	w.Deployments = append(w.Deployments, d)
	w.ReplicaSets = append(w.ReplicaSets, appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-1", UID: uid + "-1", OwnerReferences: owned1(KindDeployment, name, uid)},
		Spec:       appsv1.ReplicaSetSpec{Replicas: &replicas, Template: template},
	})
	for i, n := range nodes {
		w.Pods = append(w.Pods, pod(namespace, fmt.Sprintf("%s-1-%d", name, i), n, template, owned1("ReplicaSet", name+"-1", uid+"-1")))
	}
	w.Budgets = append(w.Budgets, policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 1, CurrentHealthy: replicas, DesiredHealthy: replicas - 1},
	})
	w.Admitted[Object{Kind: KindDeployment, Namespace: namespace, Name: name, UID: uid}] = nil
	return &w.Deployments[len(w.Deployments)-1]
}

func owned1(kind, name string, uid types.UID) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{Kind: kind, Name: name, UID: uid, Controller: &yes}}
}

func managedBy(manager, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
}

func pod(namespace, name, node string, template corev1.PodTemplateSpec, owners []metav1.OwnerReference) corev1.Pod {
	p := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("pod-" + namespace + "-" + name), Labels: template.Labels, OwnerReferences: owners},
		Spec:       *template.Spec.DeepCopy(),
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	p.Spec.NodeName = node
	return p
}

// allow gives the user every right that the faults need, as the Roles of `holdfast rbac` do.
func (w *world) allow() {
	for _, r := range catalogue.Injecting(w.Faults) {
		for _, n := range w.Places(r.Where) {
			w.Rights[r.In(n)] = true
		}
	}
}

// neighbour adds a Deployment of another namespace that the file lists, with one pod on each of the nodes.
func (w *world) neighbour(nodes ...string) *appsv1.Deployment {
	w.Limits.Neighbours = append(w.Limits.Neighbours, "mail")
	d := w.deploy("mail", "smtp", nodes...)
	w.allow()
	return d
}

// web is the Deployment under test, and budget its budget.
func (w *world) web() *appsv1.Deployment               { return &w.Deployments[0] }
func (w *world) budget() *policyv1.PodDisruptionBudget { return &w.Budgets[0] }

// each changes every pod of a workload.
func (w *world) each(name string, change func(*corev1.Pod)) {
	for i := range w.Pods {
		if strings.HasPrefix(w.Pods[i].Name, name+"-") {
			change(&w.Pods[i])
		}
	}
}

func (w *world) plan() Plan { return Make(w.Request, w.Snapshot) }

// refusals are all of a plan.
func (p Plan) refusals() (all []Refusal) {
	all = append(all, p.Refusals...)
	for _, s := range p.Steps {
		all = append(all, s.Refusals...)
	}
	return all
}

// try is a change of a world on which every fault goes, after which a rule refuses.
type try struct {
	faults string // in place of all of them
	change func(*world)
	reason string // a part of it; empty: nothing is refused
	object string // that is refused
	also   []int  // rules that refuse as well
}

// refuses checks that in each case the rule refuses, for the reason and the object, with a next step unless there is none; and no other
// rule does.
func refuses(t *testing.T, rule Rule, tries map[string]try) {
	t.Helper()
	for name, try := range tries {
		t.Run(name, func(t *testing.T) {
			faults := catalogue.Names()
			if try.faults != "" {
				faults = strings.Fields(try.faults)
			}
			w := newWorld(faults...)
			if p := w.plan(); p.Refused() {
				t.Fatalf("refused before anything is wrong: %+v", p.refusals())
			}
			try.change(w)
			p := w.plan()
			found := false
			for _, r := range p.refusals() {
				switch {
				case r.Rule == rule.Number:
					found = found || strings.Contains(r.Reason, try.reason) && (try.object == "" || r.Object.String() == try.object)
				case !contains(try.also, r.Rule):
					t.Errorf("rule %d refuses as well: %s: %s", r.Rule, r.Object, r.Reason)
				}
			}
			if found != (try.reason != "") {
				t.Errorf("want rule %d to refuse %s with %q; refused: %+v", rule.Number, try.object, try.reason, p.refusals())
			}
		})
	}
}

func contains(list []int, n int) bool {
	for _, one := range list {
		if one == n {
			return true
		}
	}
	return false
}
