package clustertest

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// control is every controller, the scheduler and the kubelets in one. It acts at once. The caller holds the lock.
func (a *API) control() {
	if a.Frozen {
		return
	}
	for _, at := range a.chosen("/api/v1/namespaces", true) {
		a.controlNamespace(a.objects[at].(*corev1.Namespace))
	}
}

func (a *API) controlNamespace(ns *corev1.Namespace) {
	going := ns.Status.Phase == corev1.NamespaceTerminating
	core := "/api/v1/namespaces/" + ns.Name
	pods := a.chosen(core+"/pods", true)
	if going && !a.Keep { // the pods of Jobs end at once; others take their grace period, until they are deleted without one
		pods = slices.DeleteFunc(pods, func(at string) bool {
			_, ofJob := a.objects[at].GetLabels()[batchv1.JobNameLabel]
			if ofJob {
				a.remove(at)
			}
			return ofJob
		})
	}
	if going && len(pods) == 0 && !a.Keep {
		for at := range a.objects {
			if at == core || strings.Contains(at, "/namespaces/"+ns.Name+"/") {
				delete(a.objects, at)
			}
		}
		return
	}
	if accounts := core + "/serviceaccounts"; !going && a.objects[accounts+"/default"] == nil {
		a.put(accounts, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: ns.Name}})
	}
	for _, at := range a.chosen("/apis/batch/v1/namespaces/"+ns.Name+"/jobs", true) {
		if !going {
			a.deployJob(at, core+"/pods", a.objects[at].(*batchv1.Job))
		}
	}
	for _, at := range pods { // bare pods
		a.run(core+"/pods", a.objects[at].(*corev1.Pod))
	}
	for i, at := range a.chosen(core+"/services", true) {
		a.objects[at].(*corev1.Service).Spec.ClusterIP = fmt.Sprintf("10.96.0.%d", i+1)
	}
	apps := "/apis/apps/v1/namespaces/" + ns.Name
	for _, at := range slices.Concat(a.chosen(apps+"/deployments", true), a.chosen(apps+"/statefulsets", true)) {
		if going {
			continue
		}
		switch w := a.objects[at].(type) {
		case *appsv1.Deployment:
			if n, ready, changed := a.deploy(ns.Name, metav1.OwnerReference{Kind: "Deployment", Name: w.Name, Controller: new(true)}, *w.Spec.Replicas, w.Status.Replicas, w.Spec.Selector, w.Spec.Template); changed {
				w.Status = appsv1.DeploymentStatus{Replicas: n, UpdatedReplicas: n, AvailableReplicas: ready, ReadyReplicas: ready}
				a.put(path.Dir(at), w)
			}
		case *appsv1.StatefulSet:
			if n, ready, changed := a.deploy(ns.Name, metav1.OwnerReference{Kind: "StatefulSet", Name: w.Name, Controller: new(true)}, *w.Spec.Replicas, w.Status.Replicas, w.Spec.Selector, w.Spec.Template); changed {
				w.Status = appsv1.StatefulSetStatus{Replicas: n, UpdatedReplicas: n, AvailableReplicas: ready, ReadyReplicas: ready}
				a.put(path.Dir(at), w)
			}
		}
	}
}

// deploy creates the missing pods of a workload and updates its EndpointSlice. It returns how many pods the workload has, and
// how many of them are ready.
func (a *API) deploy(
	namespace string, by metav1.OwnerReference, n, before int32, selector *metav1.LabelSelector, template corev1.PodTemplateSpec,
) (total, ready int32, changed bool) {
	collection, name := "/api/v1/namespaces/"+namespace+"/pods", by.Name
	own := func() (pods []*corev1.Pod) {
		for _, at := range a.chosen(collection, true) {
			if p := a.objects[at].(*corev1.Pod); labels.SelectorFromSet(selector.MatchLabels).Matches(labels.Set(p.Labels)) {
				pods = append(pods, p)
			}
		}
		return pods
	}
	changed = before == 0
	for len(own()) < int(n) {
		changed = true
		p := &corev1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
		p.Namespace, p.Name, p.OwnerReferences = namespace, fmt.Sprintf("%s-%d", name, a.version), []metav1.OwnerReference{by}
		if by.Kind == "Deployment" { // through a ReplicaSet, which nothing here asks for
			p.OwnerReferences[0].Kind, p.OwnerReferences[0].Name = "ReplicaSet", name+"-5d"
			p.Labels["pod-template-hash"] = "5d"
		}
		a.run(collection, p)
	}
	if !changed {
		return n, 0, false
	}
	s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name + "-1", Labels: map[string]string{discoveryv1.LabelServiceName: name},
	}}
	for _, p := range own() {
		if p.Spec.NodeName == "" {
			continue
		}
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{p.Status.PodIP}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)},
			TargetRef: &corev1.ObjectReference{Name: p.Name}, NodeName: &p.Spec.NodeName,
		})
	}
	a.put("/apis/discovery.k8s.io/v1/namespaces/"+namespace+"/endpointslices", s)
	return n, int32(len(s.Endpoints)), true
}

// deployJob creates the pods of an Indexed Job once. None of them is ever replaced.
func (a *API) deployJob(at, collection string, j *batchv1.Job) {
	if j.Status.Active > 0 {
		return
	}
	for i := range *j.Spec.Completions {
		p := &corev1.Pod{ObjectMeta: *j.Spec.Template.ObjectMeta.DeepCopy(), Spec: *j.Spec.Template.Spec.DeepCopy()}
		p.Namespace, p.Name = j.Namespace, fmt.Sprintf("%s-%d-%d", j.Name, i, a.version)
		p.UID = types.UID("uid-" + p.Name)
		maps.Copy(p.Labels, map[string]string{batchv1.JobNameLabel: j.Name, batchv1.JobCompletionIndexAnnotation: fmt.Sprint(i)})
		if p.Annotations == nil {
			p.Annotations = map[string]string{}
		}
		p.Annotations[batchv1.JobCompletionIndexAnnotation] = fmt.Sprint(i)
		a.run(collection, p)
	}
	j.Status.Active = *j.Spec.Completions
	a.put(path.Dir(at), j)
}

// run binds an unbound pod to the node with the fewest pods of its namespace, and makes it ready.
func (a *API) run(collection string, p *corev1.Pod) {
	if p.Spec.NodeName != "" {
		return
	}
	p.Status.Phase = corev1.PodPending
	a.put(collection, p)
	pods := func(n Object) (count int) {
		for _, at := range a.chosen(collection, true) {
			if a.objects[at].(*corev1.Pod).Spec.NodeName == n.GetName() {
				count++
			}
		}
		return count
	}
	var nodes []Object
	for _, at := range a.chosen("/api/v1/nodes", true) {
		n := a.objects[at].(*corev1.Node)
		if fits, err := nodeaffinity.GetRequiredNodeAffinity(p).Match(n); err == nil && fits { // with the node selector
			nodes = append(nodes, n)
		}
	}
	if len(nodes) == 0 {
		return // the pod stays pending
	}
	if !a.Crowd {
		slices.SortStableFunc(nodes, func(m, n Object) int { return pods(m) - pods(n) })
	}
	p.Spec.NodeName = path.Base(nodes[0].GetName())
	p.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: fmt.Sprintf("10.244.0.%d", a.version),
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
	}
	a.put(collection, p)
}
