package appcheck

import (
	"slices"

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

// counts are the fields that say how many pods an object has at once.
var counts = map[string]string{
	"Deployment": "replicas", "StatefulSet": "replicas", "ReplicaSet": "replicas", "Job": "parallelism", "CronJob": "parallelism",
}

// podsOf are the pods of an object; none if it has none, or if its spec is not what Kubernetes knows, which the API server says.
func podsOf(m app.Manifest) []pods {
	spec, steps := m.PodSpec()
	if spec == nil {
		return nil
	}
	p := pods{Manifest: m, labels: m.PodLabels(), count: 1}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &p.spec) != nil {
		return nil
	}
	for _, step := range steps {
		p.path = append(p.path, step)
	}
	if n, has, _ := unstructured.NestedInt64(m.Object.Object, "spec", counts[m.Object.GetKind()]); has {
		p.count = int32(n)
	}
	if m.Object.GetKind() == "DaemonSet" {
		p.count = 0
	}
	return []pods{p}
}

// texts are what the program of a container is told.
func (c container) texts() []string {
	all := slices.Concat(c.Command, c.Args)
	for _, e := range c.Env {
		all = append(all, e.Value)
	}
	return all
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
