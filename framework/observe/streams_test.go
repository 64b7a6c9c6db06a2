package observe

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/holdfast-ha/holdfast/framework/history"
)

func same(t *testing.T, name string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestPodEvent(t *testing.T) {
	now := metav1.Now()
	same(t, "a pod of which everything is known", podEvent(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "p", Namespace: "ns", UID: "u", DeletionTimestamp: &now, Labels: map[string]string{"app": "backend"},
			OwnerReferences: []metav1.OwnerReference{
				{Kind: "Shop", Name: "not-the-controller"}, {Kind: "ReplicaSet", Name: "backend-5d", Controller: new(true)},
			},
		},
		Spec: corev1.PodSpec{NodeName: "w1"},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "10.0.0.1",
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionTrue},
				{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI"},
				{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes are available"},
			},
			ContainerStatuses: []corev1.ContainerStatus{
				{RestartCount: 2, Resources: requests("5m"), State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}},
				{RestartCount: 3, Resources: requests("20m"), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
			},
		},
	}, history.Modified).Pod, &history.Pod{
		Change: history.Modified, Namespace: "ns", Name: "p", UID: "u", Node: "w1", IP: "10.0.0.1", Phase: "Running",
		Labels: map[string]string{"app": "backend"}, Owner: "ReplicaSet/backend-5d", Ready: true, Restarts: 5, CPU: "25m", Deleting: true, Disruption: "EvictionByEvictionAPI",
		Unschedulable: "0/3 nodes are available", Waiting: "CrashLoopBackOff",
	})
	// Conditions that are false, unknown or missing leave their fields empty.
	same(t, "a pod of which nothing holds", podEvent(&corev1.Pod{
		ObjectMeta: named("p"),
		Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionUnknown},
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, Message: "of no interest"},
			{Type: corev1.PodInitialized, Status: corev1.ConditionTrue, Reason: "of no interest"},
			{Type: corev1.ContainersReady, Status: corev1.ConditionFalse, Message: "of no interest"},
			{Type: corev1.DisruptionTarget, Status: corev1.ConditionFalse, Reason: "EvictionByEvictionAPI"},
		}},
	}, history.Listed).Pod, &history.Pod{Change: history.Listed, Namespace: "ns", Name: "p", Owner: history.NoOwner, Phase: "Pending", Rules: []byte(`{}`), Lifecycle: &history.Lifecycle{}})
}

// TestPodRules: hard constraints are recorded when a pod is first seen; mere preferences are not.
func TestPodRules(t *testing.T) {
	none, seconds := int32(2), int64(300)
	app := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}
	term := corev1.PodAffinityTerm{LabelSelector: app, TopologyKey: "zone"}
	inPool := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "pool", Operator: corev1.NodeSelectorOpExists}}}
	pod := &corev1.Pod{ObjectMeta: named("p"), Spec: corev1.PodSpec{
		NodeSelector: map[string]string{"role": "worker"},
		Tolerations:  []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds}},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{
			{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: app, MinDomains: &none, MatchLabelKeys: []string{"rev"}},
			{MaxSkew: 1, TopologyKey: "host", WhenUnsatisfiable: corev1.ScheduleAnyway},
		},
		Affinity: &corev1.Affinity{
			NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution:  &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{inPool}},
				PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: inPool}},
			},
			PodAffinity: &corev1.PodAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution:  []corev1.PodAffinityTerm{term},
				PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: term}},
			},
			PodAntiAffinity: &corev1.PodAntiAffinity{
				PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: term}},
			},
		},
	}}
	want := `{"nodeSelector":{"role":"worker"},"affinity":{` +
		`"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"pool","operator":"Exists"}]}]}},` +
		`"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"labelSelector":{"matchLabels":{"app":"a"}},"topologyKey":"zone"}]}},` +
		`"tolerations":[{"key":"gpu","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],` +
		`"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchLabels":{"app":"a"}},"minDomains":2,"matchLabelKeys":["rev"]},` +
		`{"maxSkew":1,"topologyKey":"host","whenUnsatisfiable":"ScheduleAnyway"}]}`
	for change, told := range map[history.Change]string{
		history.Listed: want, history.Added: want, history.Modified: "", history.Deleted: "",
	} {
		same(t, string(change), string(podEvent(pod, change).Pod.Rules), told)
	}
	same(t, "a pod that has only wishes", string(podEvent(&corev1.Pod{Spec: corev1.PodSpec{Affinity: &corev1.Affinity{
		PodAntiAffinity: pod.Spec.Affinity.PodAntiAffinity,
	}}}, history.Added).Pod.Rules), `{}`)
}

func TestNodeEvent(t *testing.T) {
	same(t, "a node that was closed", nodeEvent(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "w1", Labels: map[string]string{"zone": "a"}},
		Spec: corev1.NodeSpec{Unschedulable: true, Taints: []corev1.Taint{
			{Key: "node.kubernetes.io/unschedulable", Effect: corev1.TaintEffectNoSchedule},
			{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoExecute},
		}},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionTrue}, {Type: corev1.NodeReady, Status: corev1.ConditionFalse},
		}, NodeInfo: corev1.NodeSystemInfo{KubeletVersion: "v1.37.0"}},
	}, history.Modified).Node, &history.Node{
		Change: history.Modified, Name: "w1", Labels: map[string]string{"zone": "a"}, Ready: "False", Unschedulable: true,
		// invariant.Spread expects the effect after the last colon
		Taints: []string{"node.kubernetes.io/unschedulable:NoSchedule", "gpu=yes:NoExecute"}, Kubelet: "v1.37.0",
	})
	same(t, "a node without conditions", nodeEvent(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w2"}}, history.Added).Node,
		&history.Node{Change: history.Added, Name: "w2", Ready: "Unknown"})
}

func TestSliceEvent(t *testing.T) {
	yes, no, node := true, false, "w1"
	ref := func(name string) *corev1.ObjectReference { return &corev1.ObjectReference{Kind: "Pod", Name: name} }
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "backend-1", Namespace: "ns", Labels: map[string]string{discoveryv1.LabelServiceName: "backend"}},
		Ports:      []discoveryv1.EndpointPort{{Port: new(int32(8080))}, {}},
		Endpoints: []discoveryv1.Endpoint{
			{Addresses: []string{"10.0.0.1", "10.0.0.9"}, TargetRef: ref("a"), NodeName: &node},
			{TargetRef: ref("b"), Conditions: discoveryv1.EndpointConditions{Ready: &no, Serving: &yes, Terminating: &yes}},
			{Addresses: []string{"10.0.0.3"}, Conditions: discoveryv1.EndpointConditions{Ready: &yes, Serving: &no, Terminating: &no}},
		},
	}
	same(t, "endpoints", sliceEvent(slice, history.Added).Slice, &history.Slice{
		Change: history.Added, Namespace: "ns", Name: "backend-1", Service: "backend", Ports: []int32{8080}, Endpoints: []history.Endpoint{
			{IP: "10.0.0.1", Pod: "a", Node: "w1", Ready: true, Serving: true}, // unset ready and serving are true, unset terminating is false
			{Pod: "b", Serving: true, Terminating: true},
			{IP: "10.0.0.3", Ready: true},
		},
	})
	same(t, "no endpoints", sliceEvent(&discoveryv1.EndpointSlice{ObjectMeta: named("empty")}, history.Deleted).Slice,
		&history.Slice{Change: history.Deleted, Namespace: "ns", Name: "empty", Endpoints: []history.Endpoint{}})
}

func TestBudgetEvent(t *testing.T) {
	two, third := intstr.FromInt32(2), intstr.FromString("34%")
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "ns", Generation: 3},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &two, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "backend"}},
		},
		Status: policyv1.PodDisruptionBudgetStatus{
			ObservedGeneration: 3, CurrentHealthy: 6, DesiredHealthy: 2, ExpectedPods: 7, DisruptionsAllowed: 4,
		},
	}
	want := history.Budget{
		Change: history.Added, Namespace: "ns", Name: "b", Selector: map[string]string{"app": "backend"}, MinAvailable: "2",
		Observed: true, CurrentHealthy: 6, DesiredHealthy: 2, ExpectedPods: 7, DisruptionsAllowed: 4,
		UnhealthyPodEvictionPolicy: "IfHealthyBudget",
	}
	same(t, "minAvailable", budgetEvent(budget, history.Added).Budget, &want)
	budget.Spec.MinAvailable, budget.Spec.MaxUnavailable = nil, &third
	budget.Spec.UnhealthyPodEvictionPolicy, want.UnhealthyPodEvictionPolicy = new(policyv1.AlwaysAllow), "AlwaysAllow"
	budget.Generation, budget.Spec.Selector = 4, nil // a status for an older spec
	want.MinAvailable, want.MaxUnavailable, want.Observed, want.Selector = "", "34%", false, nil
	same(t, "maxUnavailable", budgetEvent(budget, history.Added).Budget, &want)
}

func TestWorkloadEvent(t *testing.T) {
	three := int32(3)
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		NodeSelector: map[string]string{"pool": "a"},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{
			{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: corev1.DoNotSchedule},
		},
	}}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "backend", Namespace: "ns", Generation: 2},
		Spec: appsv1.DeploymentSpec{
			Replicas: &three, Template: template, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "backend"}},
		},
		Status: appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 4, UpdatedReplicas: 3, ReadyReplicas: 2, AvailableReplicas: 1},
	}
	s := &appsv1.StatefulSet{
		ObjectMeta: d.ObjectMeta,
		Spec:       appsv1.StatefulSetSpec{Replicas: &three, Template: template, Selector: d.Spec.Selector},
		Status:     appsv1.StatefulSetStatus{ObservedGeneration: 2, Replicas: 4, UpdatedReplicas: 3, ReadyReplicas: 2, AvailableReplicas: 1},
	}
	want := &history.Workload{
		Change: history.Modified, Namespace: "ns", Name: "backend", Selector: map[string]string{"app": "backend"},
		NodeSelector: map[string]string{"pool": "a"}, Spread: []byte(`[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule"}]`),
		Template: templateHash(template), Replicas: 3, Updated: 3, Ready: 2, Available: 1, Total: 4, Observed: true,
	}
	same(t, "a Deployment", workloadEvent(d, history.Modified).Workload, want)
	for _, status := range []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse} {
		stuck := d.DeepCopy()
		stuck.Status.Conditions = []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentProgressing, Status: status, Reason: "ProgressDeadlineExceeded", Message: "timed out"},
			{Type: appsv1.DeploymentReplicaFailure, Status: status, Reason: "FailedCreate", Message: "exceeded quota"},
		}
		got := WorkloadOf(stuck)
		if overdue, refused := status == corev1.ConditionFalse, status == corev1.ConditionTrue; (got.Overdue == "timed out") != overdue || (got.Refused == "exceeded quota") != refused {
			t.Errorf("conditions that are %s: %+v", status, got)
		}
	}
	want.StatefulSet = true
	same(t, "a StatefulSet", statefulSetEvent(s, history.Modified).Workload, want)
	want.StatefulSet, want.DaemonSet = false, true
	same(t, "a DaemonSet", daemonSetEvent(&appsv1.DaemonSet{
		ObjectMeta: d.ObjectMeta, Spec: appsv1.DaemonSetSpec{Template: template, Selector: d.Spec.Selector},
		Status: appsv1.DaemonSetStatus{
			ObservedGeneration: 2, DesiredNumberScheduled: 3, CurrentNumberScheduled: 3, NumberMisscheduled: 1, UpdatedNumberScheduled: 3, NumberReady: 2, NumberAvailable: 1,
		},
	}, history.Modified).Workload, want)
	s.Status.ObservedGeneration = 1
	if statefulSetEvent(s, history.Modified).Workload.Observed {
		t.Error("a status that is about an older generation")
	}
	bare := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "bare", Namespace: "ns", Generation: 1}}
	same(t, "a Deployment without optional fields", workloadEvent(bare, history.Added).Workload,
		&history.Workload{Change: history.Added, Namespace: "ns", Name: "bare", Template: templateHash(bare.Spec.Template), Replicas: 1})
}

// requests is a container status with the CPU requests that the kubelet has applied.
func requests(cpu string) *corev1.ResourceRequirements {
	return &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}
}

// TestSelectorsOfMoreThanLabels: a selector with expressions selects fewer pods than its labels alone, so the record
// contains the whole selector.
func TestSelectorsOfMoreThanLabels(t *testing.T) {
	both := &metav1.LabelSelector{
		MatchLabels:      map[string]string{"app": "a"},
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "track", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"canary"}}},
	}
	const whole = "app=a,track notin (canary)"
	labels := map[string]string{"app": "a"}
	budget := budgetEvent(&policyv1.PodDisruptionBudget{Spec: policyv1.PodDisruptionBudgetSpec{Selector: both}}, history.Added).Budget
	same(t, "both", [2]any{budget.Selector, budget.SelectsBy}, [2]any{labels, whole})
	plain := budgetEvent(&policyv1.PodDisruptionBudget{Spec: policyv1.PodDisruptionBudgetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
	}}, history.Added).Budget
	same(t, "plain", [2]any{plain.Selector, plain.SelectsBy}, [2]any{labels, ""})
}
