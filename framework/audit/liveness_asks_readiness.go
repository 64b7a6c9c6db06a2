package audit

import (
	"cmp"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
)

var livenessAsksReadiness = Rule{
	ID: "liveness-asks-readiness", Severity: Note,
	Title: "its liveness probe asks what its readiness probe asks",
	Why: "A server that is only busy fails both at the same time. Its container is restarted in place of being left alone until it has caught up, and its requests go to the others, " +
		"which are then restarted as well. A liveness probe that waits for longer than the readiness probe is good practice.",
	Doc: docProbes, needs: []Resource{Services}, check: checkLivenessAsksReadiness,
}

func checkLivenessAsksReadiness(s *subject) {
	serving, _ := s.served()
	for _, c := range serving {
		live, ready := c.LivenessProbe, c.ReadinessProbe
		if c.metrics || live == nil || ready == nil || !reflect.DeepEqual(live.ProbeHandler, ready.ProbeHandler) || patience(live) > patience(ready) {
			continue
		}
		period := cmp.Or(live.PeriodSeconds, defaultPeriod)
		s.find(Finding{
			Caution: s.rollout(),
			Evidence: fmt.Sprintf("container %s, which Service %s sends requests to, is restarted after %d s without a good answer, and is not ready after %d s without the same answer",
				c.Name, c.service, patience(live), patience(ready)),
			Fix: s.patchContainer(c.container, object{"livenessProbe": object{"failureThreshold": (3*patience(ready) + period - 1) / period}}),
		})
	}
}

// The API's defaults of a probe.
const defaultPeriod, defaultFailures = 10, 3

// patience is for how many seconds a probe has to fail before it counts.
func patience(p *corev1.Probe) int32 {
	return cmp.Or(p.PeriodSeconds, defaultPeriod) * cmp.Or(p.FailureThreshold, defaultFailures)
}
