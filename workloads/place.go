package workloads

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Object is a Kubernetes object with its kind set.
type Object interface {
	metav1.Object
	runtime.Object
}

// Place is where workloads are deployed.
type Place struct {
	Namespace string
	// Image is already on every node, unless Pull says that nodes pull it.
	Image string
	Pull  corev1.PullPolicy // default Never
	// Zones are the nodes' zones by node name. A pod cannot query the zone of its node.
	Zones map[string]string
}

// Labels of all objects.
const (
	LabelName      = "app.kubernetes.io/name"
	LabelPartOf    = "app.kubernetes.io/part-of"
	LabelComponent = "holdfast.dev/component"
)

// PartOf is the value of LabelPartOf on all objects that holdfast creates.
const PartOf = "holdfast"

// NamespacePrefix begins the names of all namespaces that scenarios run in.
const NamespacePrefix = "hf-"

// LoadPrefix begins the names of those that their load workers run in.
const LoadPrefix = NamespacePrefix + "load-"

// Labels of a namespace that say which Pod Security level is enforced.
const (
	LabelEnforce        = "pod-security.kubernetes.io/enforce"
	labelEnforceVersion = "pod-security.kubernetes.io/enforce-version"
)

// AppNamespace is a namespace for an application of the user's own. It enforces the baseline Pod Security level: nodes are privileged containers, and what
// is root on one of them is root on this machine. With privileged it enforces none, because that may be what the application depends on.
func AppNamespace(name string, privileged bool) *corev1.Namespace {
	n := Namespace(name)
	n.Labels = labels(name, ComponentApp)
	if !privileged {
		n.Labels[LabelEnforce], n.Labels[labelEnforceVersion] = "baseline", "latest"
	}
	return n
}

// HowToTrust is what to do with an application that is refused because it would be root on a node.
const HowToTrust = "if the application needs that, and you trust it with this machine, say app: {privileged: true} in its file"

// LoadNamespace is the namespace of what sends load and of what it needs. Load workers that look into the connection tracking of their node need
// its root's privileges, which the namespace of what they send to need not allow.
func LoadNamespace(name string) *corev1.Namespace {
	n := Namespace(name)
	n.Labels[LabelEnforce] = "privileged"
	return n
}

// Components, the values of LabelComponent.
const (
	ComponentApp     = "app"
	ComponentBackend = "backend"
	ComponentGateway = "gateway"
	ComponentLoad    = "load"
)

// Node labels that workloads select by.
const (
	Zone = "topology.kubernetes.io/zone"
	Host = "kubernetes.io/hostname"

	labelRole  = "holdfast.dev/role"
	roleWorker = "worker"
	roleLoad   = "load"

	roleSimulated = "simulated"
)

// Port is the port that every server listens on, ServicePort that of its Service.
const (
	Port        = 8080
	ServicePort = 80

	portName = "http"
)

// Namespace is a namespace for workloads. It enforces the restricted Pod Security level.
func Namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			LabelPartOf:         PartOf,
			LabelEnforce:        "restricted",
			labelEnforceVersion: "latest",
		}},
	}
}

func labels(name, component string) map[string]string {
	return map[string]string{LabelName: name, LabelPartOf: PartOf, LabelComponent: component}
}

// selector selects the pods of a workload.
func selector(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{LabelName: name}}
}

func (p Place) meta(name, component string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: p.Namespace, Name: name, Labels: labels(name, component)}
}

// zoneList is a comma-separated list of node=zone, sorted, so that equal maps give equal lists.
func (p Place) zoneList() string {
	var entries []string
	for _, node := range slices.Sorted(maps.Keys(p.Zones)) {
		entries = append(entries, node+"="+p.Zones[node])
	}
	return strings.Join(entries, ",")
}
