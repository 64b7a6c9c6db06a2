package appcheck

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/holdfast-ha/holdfast/workloads/app"
)

// pods are those of one object.
type pods struct {
	app.Manifest
	spec   corev1.PodSpec
	labels map[string]string
	path   []any // of the spec
	count  int32 // how many there are at once; of a DaemonSet 0, because the nodes decide
}

// podsOf are the pods of an object; none if it has none, or if its spec is not what Kubernetes knows, which the API server says.
func podsOf(m app.Manifest) []pods {
	spec, steps := m.PodSpec()
	if spec == nil {
		return nil
	}
	p := pods{Manifest: m, count: 1}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &p.spec) != nil {
		return nil
	}
	for _, step := range steps {
		p.path = append(p.path, step)
	}
	labels := append(append([]string{}, steps[:len(steps)-1]...), "metadata", "labels")
	p.labels, _, _ = unstructured.NestedStringMap(m.Object.Object, labels...)
	switch m.Object.GetKind() {
	case "Deployment", "StatefulSet", "ReplicaSet":
		if n, has, _ := unstructured.NestedInt64(m.Object.Object, "spec", "replicas"); has {
			p.count = int32(n)
		}
	case "DaemonSet":
		p.count = 0
	case "Job", "CronJob":
		if n, has, _ := unstructured.NestedInt64(m.Object.Object, "spec", "parallelism"); has {
			p.count = int32(n)
		}
	}
	return []pods{p}
}

// container is a container with its path.
type container struct {
	corev1.Container
	path []any
}

// containers are all containers of the pods.
func (p pods) containers() (all []container) {
	for i, one := range p.spec.InitContainers {
		all = append(all, container{one, below(p.path, "initContainers", i)})
	}
	for i, one := range p.spec.Containers {
		all = append(all, container{one, below(p.path, "containers", i)})
	}
	return all
}
