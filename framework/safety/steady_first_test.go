package disturb

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestSteadyFirst(t *testing.T) {
	now := metav1.NewTime(time.Date(2026, 11, 25, 9, 0, 0, 0, time.UTC))
	refuses(t, steadyFirst, map[string]try{
		"a rollout runs":            {change: func(w *world) { w.web().Status.UpdatedReplicas = 1 }, reason: "of 3 replicas, 3 exist, 1 are of the newest revision"},
		"a rollout has just begun":  {change: func(w *world) { w.web().Generation = 3 }, reason: "its controller has not seen its newest version"},
		"a pod is not available":    {change: func(w *world) { w.web().Status.AvailableReplicas = 2 }, reason: "2 are available"},
		"an old pod is still there": {change: func(w *world) { w.web().Status.Replicas = 4 }, reason: "4 exist"},
		"a pod is being deleted":    {change: func(w *world) { w.Pods[0].DeletionTimestamp = &now }, reason: "it is being deleted already", object: "Pod shop/web-1-0"},
		"the workload is":           {change: func(w *world) { w.web().DeletionTimestamp = &now }, reason: "it is being removed"},
		"its rollout is paused":     {faults: "rollout", change: func(w *world) { w.web().Spec.Paused = true }, reason: "its rollout is paused"},
		"it is not there":           {change: func(w *world) { w.Workloads[0].Name = "wep" }, reason: "it is not there, or could not be read", object: "Deployment shop/wep"},
		"no pod is ready":           {faults: "delete-pod drain", change: func(w *world) { w.each("web", func(p *corev1.Pod) { p.Status.Conditions = nil }) }, reason: "it has no pod that is ready"},
		"a pod of anybody is pending": {change: func(w *world) {
			p := pod("other", "big", "", w.web().Spec.Template, nil)
			p.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}}
			w.Pods = append(w.Pods, p)
		}, reason: "it is pending, because no node takes it", object: "Pod other/big"},
		"its budget allows nothing":        {faults: "drain delete-pod", change: func(w *world) { w.budget().Status.DisruptionsAllowed = 0 }, reason: "it allows no disruption: it needs 2 healthy pods and has 3", also: []int{10}},
		"its budget has just been changed": {faults: "drain delete-pod", change: func(w *world) { w.budget().Generation = 9 }, reason: "its status is not that of its newest version"},
		"two budgets": {faults: "drain delete-pod", change: func(w *world) {
			w.Budgets = append(w.Budgets, policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: "second"}, Spec: w.budget().Spec, Status: w.budget().Status})
		}, reason: "2 budgets cover it"},
		"a budget of a neighbour":                  {faults: "drain", change: func(w *world) { w.neighbour("w1", "w2", "w3"); w.Budgets[1].Status.DisruptionsAllowed = 0 }, reason: "it allows no disruption", object: "PodDisruptionBudget mail/smtp", also: []int{10}},
		"a budget of somebody else is no obstacle": {faults: "delete-pod", change: func(w *world) { w.neighbour("w1"); w.Budgets[1].Status.DisruptionsAllowed = 0 }},
		"a node is not Ready":                      {change: func(w *world) { w.Nodes[2].Status.Conditions[0].Status = corev1.ConditionUnknown }, reason: "its condition Ready is Unknown", object: "Node w2", also: []int{8}},
		"a node without the condition":             {change: func(w *world) { w.Nodes[2].Status.Conditions = nil }, reason: "its condition Ready is Unknown", also: []int{8}},
		"a node is cordoned":                       {change: func(w *world) { w.Nodes[2].Spec.Unschedulable = true }, reason: "it is cordoned already", object: "Node w2"},
		"an autoscaler takes a node": {change: func(w *world) {
			w.Nodes[2].Spec.Taints = []corev1.Taint{{Key: "ToBeDeletedByClusterAutoscaler", Effect: corev1.TaintEffectNoSchedule}}
		}, reason: "an autoscaler is about to remove it"},
		"Karpenter takes a node": {change: func(w *world) {
			w.Nodes[2].Spec.Taints = []corev1.Taint{{Key: "karpenter.sh/disrupted", Effect: corev1.TaintEffectNoSchedule}}
		}, reason: "an autoscaler is about to remove it"},
		"the cluster autoscaler adds nodes": {change: func(w *world) { w.NodeScaling = "scaleup in progress" }, reason: "scaleup in progress"},
		"whether it does cannot be read":    {change: func(w *world) { w.Unread = append(w.Unread, Unread{Resource: "autoscaler", Why: "forbidden"}) }, reason: "autoscaler could not be read"},
		"its autoscaler scales": {faults: "delete-pod", change: func(w *world) {
			w.Autoscalers = []Autoscaler{{Object: Object{Kind: "HorizontalPodAutoscaler", Namespace: shop, Name: "web"}, Of: Object{Kind: KindDeployment, Namespace: shop, Name: "web"}, Scaling: "from 3 replicas to 5"}}
		}, reason: "it is scaling Deployment shop/web: from 3 replicas to 5"},
		"its autoscaler rests": {faults: "delete-pod", change: func(w *world) {
			w.Autoscalers = []Autoscaler{{Object: Object{Kind: "HorizontalPodAutoscaler", Namespace: shop, Name: "web"}, Of: Object{Kind: KindDeployment, Namespace: shop, Name: "web"}}}
		}},
		"another chaos tool is there":    {change: func(w *world) { w.Chaos = []Object{{Kind: "PodChaos", Namespace: "qa", Name: "kill"}} }, reason: "it is an object of another chaos tool", object: "PodChaos qa/kill"},
		"whether there is one is unread": {change: func(w *world) { w.Unread = append(w.Unread, Unread{Resource: "chaos", Why: "forbidden"}) }, reason: "chaos could not be read"},
		"kube-monkey may come":           {change: func(w *world) { w.web().Labels = map[string]string{kubeMonkey: "enabled"} }, reason: "kube-monkey may delete its pods"},
	})
}
