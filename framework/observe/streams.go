package observe

import (
	"context"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// Kind is a kind of objects that a history contains.
type Kind struct {
	// What is how a history calls the kind, and the name of its resource.
	What  string
	Group string
	// Everywhere is set of objects that are in no namespace.
	Everywhere bool
	stream     func(c kubernetes.Interface, namespace string) *stream
}

// Kinds are all kinds, in the order in which they are listed. In clusters of our own, DaemonSets and the Lease for the echo are watched in addition.
func Kinds() []Kind {
	return []Kind{
		{"nodes", "", true, func(c kubernetes.Interface, _ string) *stream {
			return streamOf("nodes", c.CoreV1().Nodes(), nodeEvent)
		}},
		{"pods", "", false, func(c kubernetes.Interface, ns string) *stream {
			return streamOf("pods", c.CoreV1().Pods(ns), podEvent)
		}},
		{"deployments", "apps", false, func(c kubernetes.Interface, ns string) *stream {
			return streamOf("deployments", c.AppsV1().Deployments(ns), workloadEvent)
		}},
		{"statefulsets", "apps", false, func(c kubernetes.Interface, ns string) *stream {
			return streamOf("statefulsets", c.AppsV1().StatefulSets(ns), statefulSetEvent)
		}},
		{"endpointslices", "discovery.k8s.io", false, func(c kubernetes.Interface, ns string) *stream {
			return streamOf("endpointslices", c.DiscoveryV1().EndpointSlices(ns), sliceEvent)
		}},
		{"poddisruptionbudgets", "policy", false, func(c kubernetes.Interface, ns string) *stream {
			return streamOf("poddisruptionbudgets", c.PolicyV1().PodDisruptionBudgets(ns), budgetEvent)
		}},
		{notes, "", false, func(c kubernetes.Interface, ns string) *stream {
			return streamOf(notes, c.CoreV1().Events(ns), noteEvent)
		}},
	}
}

// daemonSets are watched where a test may be about one. Those of others are agents of their nodes, about which a recording promises nothing.
var daemonSets = Kind{"daemonsets", "apps", false, func(c kubernetes.Interface, ns string) *stream {
	return streamOf("daemonsets", c.AppsV1().DaemonSets(ns), daemonSetEvent)
}}

// notes is the kind of Kubernetes Events.
const notes = "events"

// lister is implemented by every typed client of client-go.
type lister[L runtime.Object] interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// streamOf makes a stream from a typed client and a function that converts its objects to events.
func streamOf[L runtime.Object, T runtime.Object](
	what string, client lister[L], event func(T, history.Change) history.Event,
) *stream {
	return &stream{
		what:  what,
		lists: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return client.List(ctx, o) },
		watch: client.Watch,
		event: func(object runtime.Object, change history.Change) history.Event {
			return event(object.(T), change)
		},
	}
}

func nodeEvent(n *corev1.Node, change history.Change) history.Event {
	node := &history.Node{
		Change: change, Name: n.Name, Labels: n.Labels, Ready: string(corev1.ConditionUnknown),
		Unschedulable: n.Spec.Unschedulable, Kubelet: n.Status.NodeInfo.KubeletVersion,
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			node.Ready = string(c.Status)
		}
	}
	for _, t := range n.Spec.Taints {
		node.Taints = append(node.Taints, t.ToString())
	}
	return history.Event{Node: node}
}

func podEvent(p *corev1.Pod, change history.Change) history.Event {
	pod := &history.Pod{
		Change: change, Namespace: p.Namespace, Name: p.Name, UID: string(p.UID), Labels: p.Labels, Owner: owner(p),
		Node: p.Spec.NodeName, IP: p.Status.PodIP, Phase: string(p.Status.Phase),
		Deleting: p.DeletionTimestamp != nil,
	}
	if change == history.Listed || change == history.Added {
		pod.Rules, pod.Lifecycle = rulesJSON(p.Spec), lifecycle(p.Spec)
	}
	for _, c := range p.Status.Conditions {
		switch {
		case c.Type == corev1.PodReady:
			pod.Ready = c.Status == corev1.ConditionTrue
		case c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue:
			pod.Disruption = c.Reason
		case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse:
			pod.Unschedulable = c.Message
		}
	}
	pod.Killed = p.DeletionTimestamp != nil &&
		(slices.ContainsFunc(p.Status.ContainerStatuses, killed) || slices.ContainsFunc(p.Status.InitContainerStatuses, killed))
	var cpu resource.Quantity
	for _, c := range slices.Concat(p.Status.ContainerStatuses, sidecars(p)) {
		pod.Restarts += int(c.RestartCount)
		if c.State.Waiting != nil {
			pod.Waiting = c.State.Waiting.Reason
		}
		if c.Resources != nil {
			cpu.Add(*c.Resources.Requests.Cpu())
		}
	}
	if !cpu.IsZero() {
		pod.CPU = cpu.String()
	}
	return history.Event{Pod: pod}
}

func owner(p *corev1.Pod) history.Owner {
	if by := metav1.GetControllerOfNoCopy(p); by != nil {
		return history.OwnerOf(by.Kind, by.Name)
	}
	return history.NoOwner
}

func sliceEvent(s *discoveryv1.EndpointSlice, change history.Change) history.Event {
	slice := &history.Slice{
		Change: change, Namespace: s.Namespace, Name: s.Name, Service: s.Labels[discoveryv1.LabelServiceName],
		Endpoints: []history.Endpoint{},
	}
	for _, p := range s.Ports {
		if p.Port != nil {
			slice.Ports = append(slice.Ports, *p.Port)
		}
	}
	for _, e := range s.Endpoints {
		slice.Endpoints = append(slice.Endpoints, endpoint(e))
	}
	return history.Event{Slice: slice}
}

// endpoint treats an unset ready or serving as true, and an unset terminating as false, as the API documents.
func endpoint(e discoveryv1.Endpoint) history.Endpoint {
	out := history.Endpoint{
		Ready: ptr.Deref(e.Conditions.Ready, true), Serving: ptr.Deref(e.Conditions.Serving, true), Terminating: ptr.Deref(e.Conditions.Terminating, false),
		Pod: ptr.Deref(e.TargetRef, corev1.ObjectReference{}).Name, Node: ptr.Deref(e.NodeName, ""),
	}
	if len(e.Addresses) > 0 {
		out.IP = e.Addresses[0]
	}
	return out
}

func budgetEvent(b *policyv1.PodDisruptionBudget, change history.Change) history.Event {
	budget := &history.Budget{
		Change: change, Namespace: b.Namespace, Name: b.Name,
		Observed:       b.Status.ObservedGeneration >= b.Generation,
		CurrentHealthy: int(b.Status.CurrentHealthy), DesiredHealthy: int(b.Status.DesiredHealthy),
		ExpectedPods: int(b.Status.ExpectedPods), DisruptionsAllowed: int(b.Status.DisruptionsAllowed),
		UnhealthyPodEvictionPolicy: string(ptr.Deref(b.Spec.UnhealthyPodEvictionPolicy, policyv1.IfHealthyBudget)), // the API's default
	}
	budget.Selector, budget.SelectsBy = selector(b.Spec.Selector)
	if b.Spec.MinAvailable != nil {
		budget.MinAvailable = b.Spec.MinAvailable.String()
	}
	if b.Spec.MaxUnavailable != nil {
		budget.MaxUnavailable = b.Spec.MaxUnavailable.String()
	}
	return history.Event{Budget: budget}
}

func noteEvent(e *corev1.Event, change history.Change) history.Event {
	return history.Event{KubeNote: &history.KubeNote{
		Namespace: e.Namespace, Kind: e.InvolvedObject.Kind, Name: e.InvolvedObject.Name,
		Type: e.Type, Reason: e.Reason, Message: e.Message, Source: e.Source.Component,
	}}
}

// PodsOf are pods as a record has them, by name.
func PodsOf(pods map[string]corev1.Pod) (list []history.Pod) {
	for _, name := range slices.Sorted(maps.Keys(pods)) {
		p := pods[name]
		list = append(list, *podEvent(&p, history.Modified).Pod)
	}
	return list
}

// WorkloadOf is a Deployment as a record has it.
func WorkloadOf(d *appsv1.Deployment) history.Workload {
	return *workloadEvent(d, history.Modified).Workload
}

func workloadEvent(d *appsv1.Deployment, change history.Change) history.Event {
	w := workload(d.ObjectMeta, change, d.Spec.Selector, d.Spec.Replicas, d.Spec.Template)
	w.Updated, w.Ready = int(d.Status.UpdatedReplicas), int(d.Status.ReadyReplicas)
	w.Available, w.Total = int(d.Status.AvailableReplicas), int(d.Status.Replicas)
	w.Observed = d.Status.ObservedGeneration >= d.Generation
	for _, c := range d.Status.Conditions {
		switch {
		case c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse && c.Reason == "ProgressDeadlineExceeded":
			w.Overdue = c.Message
		case c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue:
			w.Refused = c.Message
		}
	}
	return history.Event{Workload: w}
}

// statefulSetEvent reports a StatefulSet as a Workload, like a Deployment.
func statefulSetEvent(s *appsv1.StatefulSet, change history.Change) history.Event {
	w := workload(s.ObjectMeta, change, s.Spec.Selector, s.Spec.Replicas, s.Spec.Template)
	w.StatefulSet = true
	w.Updated, w.Ready = int(s.Status.UpdatedReplicas), int(s.Status.ReadyReplicas)
	w.Available, w.Total = int(s.Status.AvailableReplicas), int(s.Status.Replicas)
	w.Observed = s.Status.ObservedGeneration >= s.Generation
	return history.Event{Workload: w}
}

// daemonSetEvent reports a DaemonSet as a Workload, with a replica for each node that should have a pod.
func daemonSetEvent(s *appsv1.DaemonSet, change history.Change) history.Event {
	w := workload(s.ObjectMeta, change, s.Spec.Selector, &s.Status.DesiredNumberScheduled, s.Spec.Template)
	w.DaemonSet = true
	w.Updated, w.Ready = int(s.Status.UpdatedNumberScheduled), int(s.Status.NumberReady)
	w.Available, w.Total = int(s.Status.NumberAvailable), int(s.Status.CurrentNumberScheduled+s.Status.NumberMisscheduled)
	w.Observed = s.Status.ObservedGeneration >= s.Generation
	return history.Event{Workload: w}
}

// workload is the part of the event that comes from the spec.
func workload(
	meta metav1.ObjectMeta, change history.Change, of *metav1.LabelSelector, replicas *int32, pod corev1.PodTemplateSpec,
) *history.Workload {
	w := &history.Workload{
		Change: change, Namespace: meta.Namespace, Name: meta.Name, NodeSelector: pod.Spec.NodeSelector,
		Spread:   spreadJSON(pod.Spec.TopologySpreadConstraints),
		Template: templateHash(pod),
		Replicas: int(ptr.Deref(replicas, 1)), // the API's default
	}
	w.Selector, w.SelectsBy = selector(of)
	return w
}

// selector returns the labels of a selector, and the whole selector in text form if it has expressions as well.
func selector(s *metav1.LabelSelector) (labels map[string]string, whole string) {
	switch {
	case s == nil:
		return nil, ""
	case len(s.MatchExpressions) > 0:
		whole = metav1.FormatLabelSelector(s)
	}
	return s.MatchLabels, whole
}

// ListedPod is what a history has of a pod that existed before the watch began.
func ListedPod(p *corev1.Pod) history.Event { return podEvent(p, history.Listed) }

// ListedNode is the same of a node.
func ListedNode(n *corev1.Node) history.Event { return nodeEvent(n, history.Listed) }

// Notes are Kubernetes' Events of a namespace, or those about objects of one name in it.
func Notes(ctx context.Context, client kubernetes.Interface, namespace, object string) ([]corev1.Event, error) {
	var only metav1.ListOptions
	if object != "" {
		only.FieldSelector = "involvedObject.name=" + object
	}
	list, err := client.CoreV1().Events(namespace).List(ctx, only)
	if err != nil {
		return nil, fmt.Errorf("list events of %s/%s: %w", namespace, object, err)
	}
	return list.Items, nil
}
