package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

var quotaStopsRollout = Rule{
	ID: "quota-stops-rollout", Severity: Error,
	Title: "a rollout needs one pod more than a quota allows",
	Why: "A rollout that must start a new pod before it ends an old one hangs where a ResourceQuota has no room for one pod more. Quotas with " +
		"scopes are not looked at, and neither is what a LimitRange adds to the pods.",
	Doc: "https://kubernetes.io/docs/concepts/policy/resource-quotas/", needs: []Resource{Quotas}, check: checkQuotaStopsRollout,
}

func checkQuotaStopsRollout(s *subject) {
	if !s.surges() {
		return
	}
	for _, q := range s.inside(s.Namespace).quotas {
		why := s.exceeds(q)
		if why == "" {
			continue
		}
		ops, _ := s.letGo(0)
		// A new pod that is refused meanwhile is tried again later each time, and an old one counts until it is gone.
		ops = append(ops, op{"add", "/spec/strategy/rollingUpdate/maxSurge", 0})
		s.find(Finding{
			Evidence: fmt.Sprintf("a rollout starts a new pod while all %d old ones are there, and ResourceQuota %s has no room for it: %s", s.Replicas, q.Name, why),
			Fix:      s.patchOps(ops), Caution: "during a rollout it then runs one pod fewer than wanted",
		})
		return
	}
}

// exceeds says what of a quota one pod more would exceed; empty: nothing.
func (s *subject) exceeds(q *corev1.ResourceQuota) string {
	if len(q.Spec.Scopes) > 0 || q.Spec.ScopeSelector != nil {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(q.Status.Hard)) {
		used, known := q.Status.Used[name]
		more := s.asks(string(name))
		if !known || more.IsZero() {
			continue
		}
		sum, hard := used.DeepCopy(), q.Status.Hard[name]
		if sum.Add(more); sum.Cmp(hard) > 0 {
			return fmt.Sprintf("of %s %s, %s are used, and a pod takes %s", hard.String(), name, used.String(), more.String())
		}
	}
	return ""
}

// asks is how much of a quota's resource a pod of the subject takes.
func (s *subject) asks(name string) (sum resource.Quantity) {
	if name == "pods" || name == "count/pods" {
		return resource.MustParse("1")
	}
	what, limits := strings.CutPrefix(name, "limits.")
	what = strings.TrimPrefix(what, "requests.")
	for _, c := range running(s.Template.Spec) {
		if limits {
			sum.Add(c.Resources.Limits[corev1.ResourceName(what)])
			continue
		}
		asked, has := c.Resources.Requests[corev1.ResourceName(what)]
		if !has { // Kubernetes' own default
			asked = c.Resources.Limits[corev1.ResourceName(what)]
		}
		sum.Add(asked)
	}
	return sum
}
