package workloads

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Healer is a Deployment of two pods that run `holdfast workload healer` beside a run on a cluster, and undo the run's changes when the run cannot. The
// pods are on two nodes, and on none of those that the run disturbs. Their ServiceAccount may read the run's journal, and undo what stands in it: it may
// do nothing that the run itself does but the undos.
type Healer struct {
	// Run names the run. Its name is part of the names of all objects outside of the healer's namespace.
	Run string `json:"run"`
	// Avoid are the names of the nodes that the run disturbs.
	Avoid []string `json:"avoid,omitempty"`
	// Undo are the permissions that the undos need, by the namespaces of their Roles; those in the namespace "" hold in the whole cluster.
	Undo map[string][]rbacv1.PolicyRule `json:"undo"`
	// Pull is when a node pulls the image. Default: never, because the image is on every node.
	Pull corev1.PullPolicy `json:"pull,omitempty"`
	// PullSecrets are names of Secrets of the healer's namespace with which a node pulls the image.
	PullSecrets []string  `json:"pullSecrets,omitempty"`
	Resources   Resources `json:"resources"`
}

// ComponentHealer is the value of LabelComponent on all objects of a healer.
const ComponentHealer = "healer"

const (
	// LabelRun is the label with the run on all objects of a healer.
	LabelRun = "holdfast.dev/run"

	healerName     = "healer"
	healerReplicas = 2
	// healerGrace is enough to end the request that is on its way. What is not undone by then is undone by the other replica.
	healerGrace = 5 * time.Second
	// kubeSystem is the namespace whose UID identifies the cluster.
	kubeSystem = metav1.NamespaceSystem
	// leaseOfCluster is the Lease by which runs and healers hold the cluster.
	leaseOfCluster = "cluster"
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
	defaultTo(&h.Pull, corev1.PullNever)
	return h
}

// Validate returns an error if the options are invalid.
func (h Healer) Validate() error {
	if h.Run == "" {
		return errors.New("healer: no run")
	}
	if err := h.WithDefaults().Resources.validate(); err != nil {
		return fmt.Errorf("healer: %w", err)
	}
	return nil
}

// Objects are the objects to create, in order. The namespace is not among them.
func (h Healer) Objects(at Place) ([]Object, error) {
	if err := h.Validate(); err != nil {
		return nil, err
	}
	h = h.WithDefaults()
	objects := []Object{&corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: h.meta(at)}}
	grants := maps.Clone(h.Undo)
	if grants == nil {
		grants = map[string][]rbacv1.PolicyRule{}
	}
	grants[""] = append(slices.Clone(grants[""]), named(may("", []string{"namespaces"}, "get"), kubeSystem))
	grants[at.Namespace] = append(slices.Clone(grants[at.Namespace]), h.own()...)
	for _, namespace := range slices.Sorted(maps.Keys(grants)) {
		objects = append(objects, h.grant(at, namespace, grants[namespace])...)
	}
	one := intstr.FromInt32(1)
	budget := &policyv1.PodDisruptionBudget{
		TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"}, ObjectMeta: h.meta(at),
		Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, Selector: selector(healerName)},
	}
	return append(objects, budget, deployment(h.meta(at), healerReplicas, Strategy{MaxSurge: "0", MaxUnavailable: "1"}, h.template(at))), nil
}

func (h Healer) labels() map[string]string {
	all := labels(healerName, ComponentHealer)
	all[LabelRun] = h.Run
	return all
}

func (h Healer) meta(at Place) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: at.Namespace, Name: healerName, Labels: h.labels()}
}

// own are the permissions for journals and the Lease. RBAC cannot restrict a list or a creation to a name.
func (h Healer) own() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		may("", []string{"configmaps"}, "list"),
		named(may("", []string{"configmaps"}, "get", "patch"), "holdfast-"+h.Run),
		may("coordination.k8s.io", []string{"leases"}, "create"),
		named(may("coordination.k8s.io", []string{"leases"}, "get", "update", "delete"), leaseOfCluster),
	}
}

func named(r rbacv1.PolicyRule, names ...string) rbacv1.PolicyRule {
	r.ResourceNames = names
	return r
}

// grant grants rules in one namespace, or in the whole cluster.
func (h Healer) grant(at Place, namespace string, rules []rbacv1.PolicyRule) []Object {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "holdfast-healer-" + h.Run, Labels: h.labels()}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: healerName, Namespace: at.Namespace}}
	if namespace == "" {
		return []Object{
			&rbacv1.ClusterRole{TypeMeta: rbacKind("ClusterRole"), ObjectMeta: meta, Rules: rules},
			&rbacv1.ClusterRoleBinding{TypeMeta: rbacKind("ClusterRoleBinding"), ObjectMeta: meta, Subjects: subjects,
				RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name}},
		}
	}
	return []Object{
		&rbacv1.Role{TypeMeta: rbacKind("Role"), ObjectMeta: meta, Rules: rules},
		&rbacv1.RoleBinding{TypeMeta: rbacKind("RoleBinding"), ObjectMeta: meta, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name}},
	}
}

// template is that of the pods: apart from each other, and away from the nodes that are disturbed.
func (h Healer) template(at Place) corev1.PodTemplateSpec {
	t := pod{
		name: healerName, component: ComponentHealer, args: []string{"--namespace=" + at.Namespace}, resources: h.Resources, preStop: NoPreStop,
		grace: healerGrace, readiness: Readiness{}.withDefaults(), readyPath: loadHealthPath, account: healerName,
	}.template(at)
	t.Labels, t.Annotations = h.labels(), maps.Clone(staysPut)
	t.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: Host, LabelSelector: selector(healerName)}},
	}}
	if len(h.Avoid) > 0 {
		elsewhere := corev1.NodeSelectorRequirement{Key: Host, Operator: corev1.NodeSelectorOpNotIn, Values: slices.Sorted(slices.Values(h.Avoid))}
		t.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{elsewhere}}},
		}}
	}
	t.Spec.Containers[0].ImagePullPolicy = h.Pull
	for _, name := range h.PullSecrets {
		t.Spec.ImagePullSecrets = append(t.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}
	return t
}
