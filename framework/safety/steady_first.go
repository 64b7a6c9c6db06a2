package disturb

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Taints with which autoscalers mark a node that they are about to take away.
var leaving = []string{"ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted", "karpenter.sh/disruption"}

// kubeMonkey is the label by which workloads are given to another chaos tool.
const kubeMonkey = "kube-monkey/enabled"

var steadyFirst = Rule{
	Number: 13, ID: "steady-first",
	Promise: "nothing is disturbed that is not steady: a rollout runs, pods are pending, a budget allows nothing, a node is NotReady or cordoned, an " +
		"autoscaler scales, or another chaos tool is there",
	needs: []string{"pods", "nodes", "poddisruptionbudgets", "deployments", "statefulsets", "replicasets", "horizontalpodautoscalers", "scaledobjects", "chaos", "autoscaler"},
	run:   checkSteadyCluster,
	step:  checkSteadyWorkload,
}

func checkSteadyCluster(s *sight) {
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if why := Unsteady(n); why != "" {
			s.refuse(nodeObject(n), "wait until it is Ready and takes pods, or mend it", "%s", why)
		}
	}
	for _, p := range s.Pods {
		if unschedulable(p) {
			s.refuse(objectOf(p), "see kubectl -n "+p.Namespace+" describe pod "+p.Name, "it is pending, because no node takes it")
		}
	}
	if s.NodeScaling != "" {
		s.refuse(s.cluster(), "wait until it is done", "the cluster autoscaler is at work: %s", s.NodeScaling)
	}
	for _, o := range s.Chaos {
		s.refuse(o, "remove it, or wait until it is over", "it is an object of another chaos tool")
	}
}

// Unsteady says why a node is not as it should be; empty: it is.
func Unsteady(n *corev1.Node) string {
	ready := corev1.ConditionUnknown
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			ready = c.Status
		}
	}
	switch {
	case ready != corev1.ConditionTrue:
		return fmt.Sprintf("its condition Ready is %s", ready)
	case n.Spec.Unschedulable:
		return "it is cordoned already"
	case n.DeletionTimestamp != nil:
		return "it is being removed"
	}
	for _, t := range n.Spec.Taints {
		if slices.Contains(leaving, t.Key) {
			return "an autoscaler is about to remove it"
		}
	}
	return ""
}

// unschedulable reports whether the scheduler has said that no node takes a pod.
func unschedulable(p corev1.Pod) bool {
	return p.Spec.NodeName == "" && !Ended(p) && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
	})
}

func checkSteadyWorkload(s *sight) {
	if len(s.step.target.ready()) == 0 {
		s.refuse(s.step.target.Object, "see why its pods are not ready", "it has no pod that is ready")
	}
	s.steady(s.step.target)
	for _, e := range s.ending() {
		if e.Workload != s.step.target {
			s.steady(e.Workload)
		}
		s.covered(e)
	}
	if s.fault().Name == "rollout" && s.step.target.stuck != "" {
		s.refuse(s.step.target.Object, "", "a rolling update would not replace its pods: %s", s.step.target.stuck)
	}
}

// steady refuses a workload that is changing.
func (s *sight) steady(w *Workload) {
	if w.unsettled != "" {
		s.refuse(w.Object, "wait until it has settled", "%s", w.unsettled)
	}
	if w.meta.DeletionTimestamp != nil {
		s.refuse(w.Object, "", "it is being removed")
	}
	for _, p := range w.pods {
		if p.DeletionTimestamp != nil {
			s.refuse(objectOf(p), "wait until it is gone", "it is being deleted already")
		}
	}
	for _, a := range s.Autoscalers {
		if a.Of.Kind == w.Kind && a.Of.Namespace == w.Namespace && a.Of.Name == w.Name && a.Scaling != "" {
			s.refuse(a.Object, "wait until it is done", "it is scaling %s: %s", w.Object, a.Scaling)
		}
	}
	if strings.EqualFold(w.meta.Labels[kubeMonkey], "enabled") {
		s.refuse(w.Object, "take the label "+kubeMonkey+" away", "kube-monkey may delete its pods at any time")
	}
}

// covered refuses if a budget of the pods allows no eviction, or if more than one covers a pod: then the API server refuses every eviction.
func (s *sight) covered(e ending) {
	var said []string
	for _, p := range e.victims {
		budgets := s.budgetsOf(p)
		if len(budgets) > 1 {
			s.refuse(objectOf(p), "remove all budgets of it but one", "%d budgets cover it, and the API server then refuses its eviction", len(budgets))
		}
		for _, b := range budgets {
			o := Object{Kind: "PodDisruptionBudget", Namespace: b.Namespace, Name: b.Name, UID: b.UID}
			if slices.Contains(said, b.Name) {
				continue
			}
			said = append(said, b.Name)
			switch {
			case b.Status.ObservedGeneration < b.Generation:
				s.refuse(o, "wait a moment", "its status is not that of its newest version")
			case b.Status.DisruptionsAllowed < 1:
				s.refuse(o, "wait until more pods are healthy, or mend it", "it allows no disruption: it needs %d healthy pods and has %d", b.Status.DesiredHealthy, b.Status.CurrentHealthy)
			}
		}
	}
}
