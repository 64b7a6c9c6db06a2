package workloads

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Healer is a Deployment of two pods that run `holdfast workload healer` beside a run on a cluster, and undo the run's changes when the run cannot. The
// pods are on two nodes, and on none of those that the run disturbs. Their ServiceAccount is one that `holdfast rbac` prints: it may undo
// what runs have noted on objects.
type Healer struct {
	// Run names the run, in a label.
	Run string `json:"run"`
	// Avoid are the names of the nodes that the run disturbs.
	Avoid []string `json:"avoid,omitempty"`
	// May are the permissions without which it could not undo what the run does, as arguments of the healer. It is not ready while it lacks one.
	May []string `json:"may,omitempty"`
	// Account is the ServiceAccount of the pods. Nodes pull the image with its secrets, if they do not have it.
	Account   string    `json:"account"`
	Resources Resources `json:"resources"`
}

// ComponentHealer is the value of LabelComponent on all objects of a healer.
const ComponentHealer = "healer"

const (
	// LabelRun is the label with the run on all objects of a healer.
	LabelRun = "holdfast.dev/run"

	// HealerName is the name of the Deployment and of its budget.
	HealerName = "healer"

	healerReplicas = 2
	// healerGrace is enough to end the request that is on its way. What is not undone by then is undone by the other replica.
	healerGrace = 5 * time.Second
)

// staysPut keeps autoscalers from taking away the node that a healer runs on.
//
// Sources: https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md,
// https://karpenter.sh/docs/concepts/disruption/#pod-level-controls
var staysPut = map[string]string{
	"cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
	"karpenter.sh/do-not-disrupt":                    "true",
}

// WithDefaults sets empty fields to their defaults.
func (h Healer) WithDefaults() Healer {
	h.Resources = h.Resources.withDefaults("10m", "48Mi", "192Mi")
	return h
}

// Validate returns an error if the options are invalid.
func (h Healer) Validate() error {
	if h.Run == "" {
		return errors.New("healer: no run")
	}
	if h.Account == "" {
		return errors.New("healer: no ServiceAccount")
	}
	if err := h.WithDefaults().Resources.validate(); err != nil {
		return fmt.Errorf("healer: %w", err)
	}
	return nil
}

// Objects are the objects to create, in order. The namespace, the ServiceAccount and its Roles are not among them: an administrator has applied what
// `holdfast rbac` prints.
func (h Healer) Objects(at Place) ([]Object, error) {
	if err := h.Validate(); err != nil {
		return nil, err
	}
	h = h.WithDefaults()
	one := intstr.FromInt32(1)
	budget := &policyv1.PodDisruptionBudget{
		TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"}, ObjectMeta: h.meta(at),
		Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, Selector: selector(HealerName)},
	}
	return []Object{budget, deployment(h.meta(at), healerReplicas, Strategy{MaxSurge: "0", MaxUnavailable: "1"}, h.template(at))}, nil
}

func (h Healer) labels() map[string]string {
	all := labels(HealerName, ComponentHealer)
	all[LabelRun] = h.Run
	return all
}

func (h Healer) meta(at Place) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: at.Namespace, Name: HealerName, Labels: h.labels()}
}

// template is that of the pods: apart from each other, and away from the nodes that are disturbed.
func (h Healer) template(at Place) corev1.PodTemplateSpec {
	t := pod{
		name: HealerName, component: ComponentHealer, args: h.May, resources: h.Resources, preStop: NoPreStop,
		grace: healerGrace, readiness: Readiness{}.withDefaults(), readyPath: loadHealthPath, account: h.Account,
	}.template(at)
	t.Labels, t.Annotations = h.labels(), maps.Clone(staysPut)
	t.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: Host, LabelSelector: selector(HealerName)}},
	}}
	if len(h.Avoid) > 0 {
		elsewhere := corev1.NodeSelectorRequirement{Key: Host, Operator: corev1.NodeSelectorOpNotIn, Values: slices.Sorted(slices.Values(h.Avoid))}
		t.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{elsewhere}}},
		}}
	}
	t.Spec.Containers[0].ImagePullPolicy = corev1.PullIfNotPresent
	return t
}
