package audit

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/holdfast-ha/holdfast/workloads"
)

func TestNoPreStop(t *testing.T) {
	const evidence = "container backend, which Service backend sends requests to, gets SIGTERM while requests still arrive"
	none := workloads.Backend{PreStop: workloads.NoPreStop}
	caught(t, noPreStop,
		mutant{name: "none", backend: none, evidence: evidence, caution: "Kubernetes 1.30"},
		mutant{name: "a StatefulSet", backend: none, statefulSet: true, evidence: evidence},
		mutant{
			name: "and no time for one", backend: workloads.Backend{PreStop: workloads.NoPreStop, GracePeriod: 4 * time.Second},
			evidence: evidence, // the patch must not leave a short-grace-period
		},
		mutant{
			name: "the default grace period is enough", backend: none, evidence: evidence,
			harm: func(d *appsv1.Deployment) { d.Spec.Template.Spec.TerminationGracePeriodSeconds = nil },
		},
	)
	clean(t, mutant{
		name: "no Service sends it requests", backend: workloads.Backend{PreStop: workloads.NoPreStop, Budget: workloads.NoBudget},
		harm: unserved, more: []runtime.Object{everyPod},
	})
}
