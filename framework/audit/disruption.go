package audit

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
)

// SecondDatabase is the caution of a fix that may start a second database beside the first.
const SecondDatabase = "only if it is built to run several replicas: a second replica of most databases is a second, empty database"

func checkSingleReplica(s *subject) {
	scaler := s.autoscaler()
	if s.Replicas != 1 || scaler != nil && minimum(scaler) > 1 { // which scales it up at once
		return
	}
	f := Finding{Evidence: "spec.replicas is 1", Caution: "where a HorizontalPodAutoscaler scales it, raise its minReplicas instead"}
	f.Fix = []Step{s.patch(s.target(), StrategicPatch, object{"spec": object{"replicas": s.several()}})}
	if scaler != nil {
		f.Evidence, f.Caution = f.Evidence+", and HorizontalPodAutoscaler "+scaler.Name+" may leave it so", ""
		f.Fix = []Step{s.raiseMinimum(scaler)}
	}
	switch {
	case s.Kind == StatefulSet:
		f.Severity = Warning
		f.Caution = sentences(SecondDatabase, f.Caution)
	case s.stateful():
		f.Caution = sentences(SecondDatabase, f.Caution)
	case s.Claims:
		f.Caution = sentences("a volume that one node holds cannot serve two replicas", f.Caution)
	case s.electsLeader():
		f.Severity = Note
	}
	s.find(f)
}

// databases are the images of servers that keep data: another one has other data. Programs beside them are none.
var (
	databases = regexp.MustCompile(`\b(postgres|postgis|timescale|mysql|mariadb|percona|mongo|redis|valkey|keydb|dragonfly|cassandra|scylla|couch|influxdb|elasticsearch|` +
		`opensearch|solr|neo4j|arango|rethinkdb|clickhouse|cockroach|mssql|oracle|db2|etcd|zookeeper|kafka|rabbitmq|mosquitto|emqx|vernemq|activemq|nats|minio|qdrant|milvus|weaviate|meilisearch)`)
	besides = regexp.MustCompile(`exporter|express|commander|admin|proxy|bouncer|operator|backup|client|console|dashboard|ui\b|postgrest`)
)

// stateful reports whether a container's image is that of a database. Its registry and its owner do not say that it is something else.
func (s *subject) stateful() bool {
	return slices.ContainsFunc(running(s.Template.Spec), func(c container) bool {
		image, _, _ := strings.Cut(c.Image, "@")
		name, _, _ := strings.Cut(path.Base(image), ":")
		return databases.MatchString(image) && !besides.MatchString(name)
	})
}

var (
	elects = regexp.MustCompile(`(?i)leader[-_]?elect`)
	never  = regexp.MustCompile(`(?i)leader[-_]?elect(ion)?([-_]?enabled?)?("?[=,]"?|","value":")false`)
)

// electsLeader reports whether the subject's replicas elect one that works, and nothing but metrics is asked of them.
func (s *subject) electsLeader() bool {
	serving, traffic := s.served()
	asked := traffic && len(serving) == 0 || slices.ContainsFunc(serving, func(c served) bool { return !c.metrics })
	if asked || s.cluster.unread(Services, s.Namespace) {
		return false
	}
	said := encode(s.Template.Spec.Containers)
	return elects.Match(said) && !never.Match(said)
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
	for _, h := range in(s.Namespace, s.cluster.Autoscalers) {
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

func checkBudgetBlocksDrains(s *subject) {
	covering := s.budgets()
	if len(covering) > 1 {
		s.find(s.severalBudgets(covering))
		return
	}
	for _, b := range covering {
		expected := s.expected(b)
		demand, healthy := demanded(b.Spec, expected)
		f := Finding{
			Evidence: fmt.Sprintf("budget %s demands %s and covers %s, so none can ever be evicted", b.Name, demand, prose.Count(expected, "pod")),
			Fix: []Step{s.patch(Target{Kind: kindBudget, Namespace: b.Namespace, Name: b.Name}, MergePatch,
				object{"spec": object{"minAvailable": nil, "maxUnavailable": 1}})},
		}
		switch least := s.fewest(b, expected); {
		case healthy < expected:
			if _, healthy = demanded(b.Spec, least); healthy < max(least, 1) {
				continue
			}
			f.Severity, f.Evidence = Warning, fmt.Sprintf("budget %s demands %s, so none can be evicted while HorizontalPodAutoscaler %s leaves %s",
				b.Name, demand, s.autoscaler().Name, prose.Count(least, "pod"))
		case expected == 1:
			f.Caution = "with a single replica, each drain of its node is then an outage: run several replicas"
		}
		s.find(f)
	}
}

// fewest is how many of the pods that a budget covers an autoscaler may leave; without one, or if the budget covers other pods, all that are expected.
func (s *subject) fewest(b *policyv1.PodDisruptionBudget, expected int) int {
	if h := s.autoscaler(); h != nil && s.coversOnly(b) && expected == s.Replicas {
		return min(minimum(h), expected)
	}
	return expected
}

// severalBudgets is the finding that several budgets cover the same pods. Only a budget that covers no other workload can be
// deleted.
func (s *subject) severalBudgets(covering []*policyv1.PodDisruptionBudget) Finding {
	var all []string
	for _, b := range covering {
		all = append(all, b.Name)
	}
	f := Finding{
		Evidence: fmt.Sprintf("%d budgets cover its pods (%s), and the API evicts no pod that more than one covers", len(all), listNames(all)),
		Caution:  "decide which budget is meant; these commands keep the first by name",
	}
	for _, b := range covering[1:] {
		if s.coversOnly(b) {
			f.Fix = append(f.Fix, s.remove(Target{Kind: kindBudget, Namespace: b.Namespace, Name: b.Name}))
		}
	}
	if len(f.Fix) < len(covering)-1 {
		f.Caution = "some of them cover other workloads too, so none can simply be deleted: make their selectors disjoint"
		f.Fix = nil
	}
	return f
}

// covered returns the workloads whose pods a budget covers.
func (v *view) covered(b *policyv1.PodDisruptionBudget) (workloads []*Workload) {
	for _, w := range in(b.Namespace, v.cluster.Workloads) {
		if matches(b.Spec.Selector, w.Template.Labels) {
			workloads = append(workloads, w)
		}
	}
	return workloads
}

func (s *subject) coversOnly(b *policyv1.PodDisruptionBudget) bool { return len(s.covered(b)) == 1 }

// expected returns the number of pods that a budget's percentages refer to: the sum of the replicas that its workloads want. If
// the budget covers other pods too, only its status tells, and the larger number counts.
func (s *subject) expected(b *policyv1.PodDisruptionBudget) int {
	sum := 0
	for _, w := range s.covered(b) {
		sum += w.Replicas
	}
	if b.Status.ObservedGeneration == b.Generation {
		return max(sum, int(b.Status.ExpectedPods))
	}
	return sum
}

// demanded returns what a budget demands, in words, and how many of the expected pods must be healthy. Percentages are rounded
// up, those of maxUnavailable too.
// Source: getExpectedPodCount in k8s.io/kubernetes/pkg/controller/disruption
func demanded(spec policyv1.PodDisruptionBudgetSpec, expected int) (words string, healthy int) {
	switch {
	case spec.MaxUnavailable != nil:
		return "maxUnavailable " + spec.MaxUnavailable.String(), max(expected-share(spec.MaxUnavailable, expected, true), 0)
	case spec.MinAvailable != nil:
		return "minAvailable " + spec.MinAvailable.String(), share(spec.MinAvailable, expected, true)
	}
	return "nothing", 0
}

func checkNoBudget(s *subject) {
	if s.Replicas < 2 || len(s.budgets()) > 0 { // for a single replica, a budget can only block every drain
		return
	}
	one, always := intstr.FromInt32(1), policyv1.AlwaysAllow
	at := Target{Kind: kindBudget, Namespace: s.Namespace, Name: s.freeBudgetName()}
	s.find(Finding{
		Evidence: fmt.Sprintf("evictions may take all %d pods at once", s.Replicas),
		Fix: []Step{s.create(at, struct { // without the status that the API type carries
			metav1.TypeMeta   `json:",inline"`
			metav1.ObjectMeta `json:"metadata"`
			Spec              policyv1.PodDisruptionBudgetSpec `json:"spec"`
		}{
			metav1.TypeMeta{APIVersion: "policy/v1", Kind: at.Kind},
			metav1.ObjectMeta{Namespace: at.Namespace, Name: at.Name},
			policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, Selector: s.Selector, UnhealthyPodEvictionPolicy: &always},
		})},
	})
}

// budgets returns the budgets that cover the subject's pods, by name.
func (s *subject) budgets() (covering []*policyv1.PodDisruptionBudget) {
	for _, b := range in(s.Namespace, s.cluster.Budgets) {
		if s.own(b.Spec.Selector) {
			covering = append(covering, b)
		}
	}
	slices.SortFunc(covering, func(a, b *policyv1.PodDisruptionBudget) int { return strings.Compare(a.Name, b.Name) })
	return covering
}

// freeBudgetName returns the workload's own name, or a longer one if a budget that covers something else has that name.
func (s *subject) freeBudgetName() string {
	name := s.Name
	for slices.ContainsFunc(in(s.Namespace, s.cluster.Budgets), func(b *policyv1.PodDisruptionBudget) bool { return b.Name == name }) {
		name += "-budget"
	}
	return name
}

func checkBudgetCoversNothing(s *subject, b *policyv1.PodDisruptionBudget) {
	idle := func(w Workload) bool {
		return w.Namespace == b.Namespace && matches(b.Spec.Selector, w.Template.Labels)
	}
	if selectsAll(b.Spec.Selector) || len(s.covered(b)) > 0 || b.Status.ExpectedPods > 0 || b.Status.ObservedGeneration != b.Generation || slices.ContainsFunc(s.cluster.Idle, idle) {
		return
	}
	f := Finding{
		Evidence: fmt.Sprintf("no pod has the labels that budget %s selects: %s", b.Name, metav1.FormatLabelSelector(b.Spec.Selector)), Severity: Note,
		Caution: "no patch can know which pods are meant: correct its selector, or delete it",
	}
	for _, w := range in(b.Namespace, s.cluster.Workloads) {
		if one := (subject{view: s.view, Workload: w}); w.Replicas > 1 && len(one.budgets()) == 0 {
			f.Severity = Warning
		}
	}
	s.find(f)
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
