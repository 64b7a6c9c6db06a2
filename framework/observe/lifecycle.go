package observe

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// lifecycle is how a pod starts and terminates, according to its spec.
func lifecycle(spec corev1.PodSpec) *history.Lifecycle {
	l := &history.Lifecycle{Readiness: len(spec.Containers) > 0}
	for i := range spec.Containers {
		c := &spec.Containers[i]
		l.Readiness = l.Readiness && c.ReadinessProbe != nil
		if c.Lifecycle != nil && c.Lifecycle.PreStop != nil && c.Lifecycle.PreStop.Sleep != nil {
			l.PreStop = max(l.PreStop, time.Duration(c.Lifecycle.PreStop.Sleep.Seconds)*time.Second)
		}
	}
	if spec.TerminationGracePeriodSeconds != nil {
		l.Grace = time.Duration(*spec.TerminationGracePeriodSeconds) * time.Second
	}
	return l
}
