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

// Place says where workloads go.
type Place struct {
	Namespace string
	// Image is in every node already: it is never pulled.
	Image string
	// Zones of the nodes, by node. A pod cannot ask for its own.
	Zones map[string]string
}

// Labels of all objects. Component is also what a Deployment's pods are told apart by at a glance.
const (
	LabelName      = "app.kubernetes.io/name"
	LabelPartOf    = "app.kubernetes.io/part-of"
	LabelComponent = "holdfast.dev/component"
)

// PartOf is the value of LabelPartOf of all that is ours.
const PartOf = "holdfast"

// Components, the values of LabelComponent.
const (
	ComponentBackend = "backend"
	ComponentGateway = "gateway"
	ComponentLoad    = "load"
)

// Labels of nodes that workloads ask for.
const (
	Zone = "topology.kubernetes.io/zone"
	Host = "kubernetes.io/hostname"

	labelRole  = "holdfast.dev/role"
	roleWorker = "worker"
	roleLoad   = "load"
)

// Port is what every server listens on, and ServicePort what its Service does.
const (
	Port        = 8080
	ServicePort = 80

	portName = "http"
)

// Namespace for workloads. It refuses pods that ask for more than Pod Security's strictest level gives.
func Namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			LabelPartOf:                                  PartOf,
			"pod-security.kubernetes.io/enforce":         "restricted",
			"pod-security.kubernetes.io/enforce-version": "latest",
		}},
	}
}

// labels of an object.
func labels(name, component string) map[string]string {
	return map[string]string{LabelName: name, LabelPartOf: PartOf, LabelComponent: component}
}

// selector of the pods of a workload.
func selector(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{LabelName: name}}
}

func (p Place) meta(name, component string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: p.Namespace, Name: name, Labels: labels(name, component)}
}

// zoneList is node=zone, comma between, in order: the same for the same map.
func (p Place) zoneList() string {
	var entries []string
	for _, node := range slices.Sorted(maps.Keys(p.Zones)) {
		entries = append(entries, node+"="+p.Zones[node])
	}
	return strings.Join(entries, ",")
}
