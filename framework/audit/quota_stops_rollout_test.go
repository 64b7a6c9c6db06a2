package audit

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/holdfast-ha/holdfast/workloads"
)

func TestQuotaStopsRollout(t *testing.T) {
	quota := func(name corev1.ResourceName, hard, used string, change ...func(*corev1.ResourceQuota)) []runtime.Object {
		q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "team", Namespace: shop}}
		q.Status.Hard = corev1.ResourceList{name: resource.MustParse(hard)}
		q.Status.Used = corev1.ResourceList{name: resource.MustParse(used)}
		for _, c := range change {
			c(q)
		}
		return []runtime.Object{q}
	}
	scoped := func(q *corev1.ResourceQuota) {
		q.Spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeTerminating}
	}
	elsewhere := func(q *corev1.ResourceQuota) { q.Namespace = "other" }
	unused := func(q *corev1.ResourceQuota) { q.Status.Used = nil }
	good := workloads.Backend{Replicas: 6}
	asking := workloads.Backend{Replicas: 6, Resources: workloads.Resources{CPU: "100m", CPULimit: "200m"}}
	const begins = "a rollout starts a new pod while all 6 old ones are there, and ResourceQuota team has no room for it: "
	caught(t, "quota-stops-rollout",
		mutant{name: "pods", backend: good, more: quota("pods", "6", "6"), evidence: begins + "of 6 pods, 6 are used, and a pod takes 1", caution: "one pod fewer"},
		mutant{name: "counted pods", backend: good, more: quota("count/pods", "8", "8"), evidence: begins + "of 8 count/pods, 8 are used, and a pod takes 1", caution: "one pod fewer"},
		mutant{name: "requests", backend: asking, more: quota("requests.cpu", "650m", "600m"), evidence: begins + "of 650m requests.cpu, 600m are used, and a pod takes 100m", caution: "one pod fewer"},
		mutant{name: "requests by their short name", backend: asking, more: quota("cpu", "650m", "600m"), evidence: begins + "of 650m cpu, 600m are used, and a pod takes 100m", caution: "one pod fewer"},
		mutant{name: "limits", backend: asking, more: quota("limits.cpu", "1300m", "1200m"), evidence: begins + "of 1300m limits.cpu, 1200m are used, and a pod takes 200m", caution: "one pod fewer"},
	)
	clean(t,
		mutant{name: "room for one more", backend: good, more: quota("pods", "7", "6")},
		mutant{name: "just room", backend: asking, more: quota("requests.cpu", "700m", "600m")},
		mutant{name: "of what no pod takes", backend: good, more: quota("services", "1", "1")},
		mutant{name: "with a scope", backend: good, more: quota("pods", "6", "6", scoped)},
		mutant{name: "of another namespace", backend: good, more: quota("pods", "6", "6", elsewhere)},
		mutant{name: "whose use is not known yet", backend: good, more: quota("pods", "6", "6", unused)},
		mutant{name: "one may be out", backend: workloads.Backend{Replicas: 6, Strategy: workloads.Strategy{MaxUnavailable: "1"}}, more: quota("pods", "6", "6")},
	)
}
