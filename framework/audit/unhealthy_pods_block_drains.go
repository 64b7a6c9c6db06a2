package audit

import (
	"fmt"

	policyv1 "k8s.io/api/policy/v1"
)

var unhealthyPodsBlockDrains = Rule{
	ID: "unhealthy-pods-block-drains", Severity: Warning,
	Title: "pods that are not ready block drains",
	Why: "A budget without unhealthyPodEvictionPolicy AlwaysAllow refuses to evict a pod that is not ready while too few others are. Pods in a crash loop then block " +
		"the drains of their nodes, and so an upgrade that might be their cure, although no request depends on them.",
	Doc: docBudget + "#unhealthy-pod-eviction-policy", needs: []Resource{Budgets}, check: checkUnhealthyPodsBlockDrains,
}

func checkUnhealthyPodsBlockDrains(s *subject) {
	for _, b := range s.budgets() {
		if p := b.Spec.UnhealthyPodEvictionPolicy; p != nil && *p == policyv1.AlwaysAllow {
			continue
		}
		s.find(Finding{
			Evidence: fmt.Sprintf("budget %s has no unhealthyPodEvictionPolicy AlwaysAllow", b.Name),
			Fix: []Step{s.patch(Target{Kind: kindBudget, Namespace: b.Namespace, Name: b.Name}, MergePatch,
				object{"spec": object{"unhealthyPodEvictionPolicy": policyv1.AlwaysAllow}})},
			Caution: "the field needs Kubernetes 1.27",
		})
	}
}
