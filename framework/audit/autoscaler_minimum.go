package audit

import (
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
)

var autoscalerMinimum = Rule{
	ID: "autoscaler-minimum", Severity: Warning,
	Title: "its autoscaler may leave it a single replica",
	Why: "Under little load, a HorizontalPodAutoscaler scales down to minReplicas, which is 1 unless it is set. Whatever ends the only pod is then an outage. " +
		"While there is a single replica, the rule single-replica reports it instead.",
	Doc: "https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/", needs: []Resource{Autoscalers}, check: checkAutoscalerMinimum,
}

func checkAutoscalerMinimum(s *subject) {
	h := s.autoscaler()
	if h == nil || s.Replicas < 2 || minimum(h) > 1 {
		return
	}
	s.find(Finding{
		Evidence: fmt.Sprintf("HorizontalPodAutoscaler %s may scale its %d replicas down to %d", h.Name, s.Replicas, minimum(h)),
		Fix:      []Step{s.raiseMinimum(h)},
	})
}

// autoscaler is the HorizontalPodAutoscaler that scales the subject; nil: none does, or none could be read.
func (s *subject) autoscaler() *autoscalingv2.HorizontalPodAutoscaler {
	for _, h := range s.inside(s.Namespace).autoscalers {
		if to := h.Spec.ScaleTargetRef; to.Kind == s.Kind && to.Name == s.Name {
			return h
		}
	}
	return nil
}

// minimum is how many replicas an autoscaler leaves at least; the API's default is 1.
func minimum(h *autoscalingv2.HorizontalPodAutoscaler) int { return replicas(h.Spec.MinReplicas) }

// raiseMinimum keeps an autoscaler from leaving the subject a single replica.
func (s *subject) raiseMinimum(h *autoscalingv2.HorizontalPodAutoscaler) Step {
	limits := object{"minReplicas": s.several()}
	if int(h.Spec.MaxReplicas) < s.several() {
		limits["maxReplicas"] = s.several()
	}
	return s.patch(Target{Kind: kindAutoscaler, Namespace: h.Namespace, Name: h.Name}, MergePatch, object{"spec": limits})
}

// several is how many replicas outlive the loss of a zone: one in each, at least two and at most three.
func (s *subject) several() int { return min(max(len(s.homes().domains(zoneKey)), 2), 3) }
