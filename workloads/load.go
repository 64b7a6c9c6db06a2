package workloads

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Load is the load workers: pods that run `holdfast workload load`, on the load node and on nodes in AlsoOn. They are bare
// pods because a worker keeps its results in memory: replacing a worker loses evidence, and that must not go unnoticed.
type Load struct {
	Name    string `json:"name,omitempty"`    // default "load"; the pods are load-0, load-1, ...
	Workers int    `json:"workers,omitempty"` // on the load node; default 1
	// AlsoOn lists nodes that get one more worker each, numbered after the others: that node's kube-proxy then distributes
	// the worker's requests to pods.
	AlsoOn []string `json:"alsoOn,omitempty"`
	// Args are appended to `holdfast workload load`.
	Args      []string  `json:"args,omitempty"`
	Resources Resources `json:"resources"`
}

// loadHealthPath is the path of a load worker's readiness probe.
const loadHealthPath = "/healthz"

// loadGrace is a worker's grace period: when a worker is deleted, its results have been collected already or will never be.
const loadGrace = time.Second

// WithDefaults sets empty fields to their defaults.
func (l Load) WithDefaults() Load {
	defaultTo(&l.Name, "load")
	defaultTo(&l.Workers, 1)
	l.Resources = l.Resources.withDefaults("100m", "64Mi", "1Gi") // memory for rows that cannot be collected for minutes
	return l
}

// PodNames of the workers, in order.
func (l Load) PodNames() []string {
	l = l.WithDefaults()
	var names []string
	for i := range l.Workers + len(l.AlsoOn) {
		names = append(names, l.Name+"-"+strconv.Itoa(i))
	}
	return names
}

// Objects are the objects to create, in order. The namespace is not among them.
func (l Load) Objects(at Place) ([]Object, error) {
	l = l.WithDefaults()
	if l.Workers < 0 {
		return nil, fmt.Errorf("load %s: %d workers", l.Name, l.Workers)
	}
	if err := l.Resources.validate(); err != nil {
		return nil, fmt.Errorf("load %s: %w", l.Name, err)
	}
	template := pod{
		name: l.Name, component: ComponentLoad, args: l.Args, resources: l.Resources, preStop: NoPreStop, grace: loadGrace,
		readiness: Readiness{}.withDefaults(), readyPath: loadHealthPath,
	}.template(at)
	template.Spec.NodeSelector, template.Spec.Tolerations = onRole(roleLoad), loadTolerations()
	var objects []Object
	for i, name := range l.PodNames() {
		worker := &corev1.Pod{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: at.meta(l.Name, ComponentLoad),
			Spec: *template.Spec.DeepCopy(),
		}
		worker.Name = name
		if i >= l.Workers {
			worker.Spec.NodeSelector = map[string]string{Host: l.AlsoOn[i-l.Workers]}
		}
		objects = append(objects, worker)
	}
	return objects, nil
}
