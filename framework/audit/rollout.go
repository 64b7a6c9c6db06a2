package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
)

func checkUnmeetableAntiAffinity(s *subject) {
	for i, t := range s.antiAffinity() {
		if !s.ownTerm(t) {
			continue
		}
		room, bounded := s.roomApart(t.TopologyKey)
		switch {
		case !bounded:
		case s.Replicas > room:
			ops, caution := s.preferApart([]int{i}, s.Replicas-room)
			s.find(Finding{
				Evidence: fmt.Sprintf("its %d pods need as many domains of %s, and %d can take them", s.Replicas, t.TopologyKey, room),
				Fix:      s.patchOps(ops), Caution: sentences(caution, s.rollout()),
			})
		case s.surges() && s.Replicas+1 > room && !slices.Contains(t.MatchLabelKeys, revisionKey):
			s.cannotSurge(fmt.Sprintf("only %d domains of %s can take them", room, t.TopologyKey))
		}
	}
}

const (
	pathPodAntiAffinity = pathPod + "/affinity/podAntiAffinity"
	pathAntiAffinity    = pathPodAntiAffinity + "/requiredDuringSchedulingIgnoredDuringExecution"
	pathPreferredApart  = pathPodAntiAffinity + "/preferredDuringSchedulingIgnoredDuringExecution"
)

// cannotSurge reports that a rollout cannot start a new pod before it has ended an old one. The fix makes it end one first.
func (s *subject) cannotSurge(because string, more ...op) {
	ops, _ := s.letGo(0)
	s.find(Finding{
		Evidence: fmt.Sprintf("a rollout starts a new pod while all %d old ones are there, and %s", s.Replicas, because),
		Fix:      s.patchOps(append(ops, more...)), Caution: "during a rollout it then runs one pod fewer than wanted",
	})
}

// apart and together are the template's rules about other pods.
func (s *subject) apart() corev1.PodAntiAffinity {
	return ptr.Deref(ptr.Deref(s.Template.Spec.Affinity, corev1.Affinity{}).PodAntiAffinity, corev1.PodAntiAffinity{})
}

func (s *subject) together() corev1.PodAffinity {
	return ptr.Deref(ptr.Deref(s.Template.Spec.Affinity, corev1.Affinity{}).PodAffinity, corev1.PodAffinity{})
}

// antiAffinity returns the required terms of pod anti-affinity.
func (s *subject) antiAffinity() []corev1.PodAffinityTerm {
	return s.apart().RequiredDuringSchedulingIgnoredDuringExecution
}

// roomApart returns how many pods fit when no two may share a domain. The number is not bounded if some node lacks the label:
// such a node is no domain, and takes any number of pods.
func (s *subject) roomApart(key string) (room int, bounded bool) {
	homes := s.homes()
	for _, n := range homes.nodes {
		if _, labelled := n.Labels[key]; !labelled {
			return 0, false
		}
	}
	return len(homes.domains(key)), true
}

// surges reports whether a rollout must start a pod before it may end one.
func (s *subject) surges() bool {
	return s.Kind == Deployment && s.Update.Rolling && s.Update.MaxSurge > 0 && s.Update.MaxUnavailable == 0
}

// letGo returns the operations that raise maxUnavailable, so that a Deployment's rollout ends old pods to make room for new
// ones. Anti-affinity is symmetric: an old pod keeps new ones out of its domain, whatever the new template says. pending is how
// many pods are unavailable already.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#inter-pod-affinity-and-anti-affinity
func (s *subject) letGo(pending int) (ops []op, caution string) {
	if s.Kind != Deployment || !s.Update.Rolling || s.Update.MaxUnavailable > pending {
		return nil, ""
	}
	return []op{{"add", pathMaxUnavailable, pending + 1}}, fmt.Sprintf(
		"old pods keep new ones out of their domains, so rollouts may have %s unavailable: reset maxUnavailable after this rollout",
		prose.Count(pending+1, "pod"))
}

const pathMaxUnavailable = "/spec/strategy/rollingUpdate/maxUnavailable"

// preferApart turns required terms into preferences of the same kind. It also lets the rollout of that change proceed although
// that many pods are pending.
func (s *subject) preferApart(terms []int, pending int) (ops []op, caution string) {
	given, caution := s.letGo(pending)
	return append(s.asPreferences(terms), given...),
		sentences("this makes it a preference, and pods share a domain where there is no other place", caution)
}

func (s *subject) asPreferences(terms []int) (ops []op) {
	var preferences []corev1.WeightedPodAffinityTerm
	for _, i := range slices.Backward(terms) { // backward, so that a removal does not shift the indexes still to come
		t := s.antiAffinity()[i]
		preferences = append(preferences, corev1.WeightedPodAffinityTerm{Weight: 100, PodAffinityTerm: t})
		ops = append(ops, removeTerm(pathAntiAffinity, i, t)...)
	}
	if len(s.apart().PreferredDuringSchedulingIgnoredDuringExecution) == 0 {
		return append(ops, op{"add", pathPreferredApart, preferences})
	}
	for _, p := range preferences {
		ops = append(ops, op{"add", pathPreferredApart + "/-", p})
	}
	return ops
}

func checkNoRoomToSurge(s *subject) {
	port := s.hostPort()
	room := len(s.homes().nodes)
	if port == 0 || !s.surges() || s.Replicas > room || s.Replicas+1 <= room {
		return
	}
	s.cannotSurge(fmt.Sprintf("port %d of each of %d nodes is taken", port, room))
}

// hostPort is a port of the node that a container has; 0: none has one.
func (s *subject) hostPort() int32 {
	for _, c := range running(s.Template.Spec) {
		for _, p := range c.Ports {
			if p.HostPort != 0 {
				return p.HostPort
			}
		}
	}
	return 0
}

func checkQuotaStopsRollout(s *subject) {
	if !s.surges() {
		return
	}
	for _, q := range in(s.Namespace, s.cluster.Quotas) {
		if why := s.exceeds(q); why != "" {
			// A new pod that is refused meanwhile is tried again later each time, and an old one counts until it is gone.
			s.cannotSurge(fmt.Sprintf("ResourceQuota %s has no room for it: %s", q.Name, why), op{"add", "/spec/strategy/rollingUpdate/maxSurge", 0})
			return
		}
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

func checkRecreatesAllPods(s *subject) {
	serving, _ := s.served()
	if s.Kind != Deployment || s.Update.Rolling {
		return
	}
	for _, c := range serving {
		if c.metrics {
			continue
		}
		f := Finding{Evidence: fmt.Sprintf("its strategy is Recreate, and Service %s sends requests to its pods", c.service)}
		if s.Claims || s.stateful() {
			f.Severity, f.Caution = Note, "no patch can know whether two revisions can run at the same time with the same data"
		} else {
			f.Fix = []Step{s.patch(s.target(), StrategicPatch, object{"spec": object{"strategy": object{"type": "RollingUpdate"}}})}
			f.Caution = sentences("only if two revisions can run at the same time", s.rollout())
		}
		s.find(f)
		return
	}
}
