package appcheck

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	ports "k8s.io/apimachinery/pkg/util/validation"

	"github.com/holdfast-ha/holdfast/workloads/app"
)

// name finds a name that the API server refuses.
func (c *checker) name(m app.Manifest) {
	kind := m.Object.GroupVersionKind().GroupKind()
	rule := validation.NameIsDNSSubdomain
	switch {
	case kind.Group == rbacv1.GroupName:
		rule = func(name string, _ bool) []string { return content.IsPathSegmentName(name) }
	case kind.String() == "Service":
		rule = validation.NameIsDNSLabel
	case c.app.Serves(kind.Group): // it has rules of its own
		return
	}
	if wrong := rule(m.Object.GetName(), false); len(wrong) > 0 {
		cause, _, _ := strings.Cut(wrong[0], " (e.g.") // which is followed by a regular expression
		c.stops(m, []any{"metadata", "name"}, "rename it in the manifests of the test", "Kubernetes takes no such name: %s", ours(cause))
	}
}

// each finds a container without an image, and ports and probes of one that the API server refuses.
func (c *checker) each(p pods) {
	for _, one := range p.containers() {
		if one.Image == "" || !app.IsName(one.Image) {
			c.stops(p.Manifest, one.path, "name the image that it runs", "container %q has no image", one.Name)
		}
		for i, port := range one.Ports {
			if ports.IsValidPortNum(int(port.ContainerPort)) != nil {
				c.stops(p.Manifest, below(one.path, "ports", i), "have one from 1 to 65535", "there is no port %d", port.ContainerPort)
			}
		}
		for _, h := range []*corev1.Probe{one.ReadinessProbe, one.LivenessProbe, one.StartupProbe} {
			if h != nil && strings.Count(fmt.Sprint(h.Exec == nil, h.HTTPGet == nil, h.TCPSocket == nil, h.GRPC == nil), "false") != 1 {
				c.stops(p.Manifest, one.path, "have one of exec, grpc, httpGet and tcpSocket", "a probe of container %q asks in no way, or in several", one.Name)
			}
		}
	}
}

// selector finds a workload that does not select its own pods.
func (c *checker) selector(p pods) {
	switch p.Object.GroupVersionKind().GroupKind().String() {
	case "Deployment.apps", "StatefulSet.apps", "DaemonSet.apps", "ReplicaSet.apps":
	default:
		return
	}
	const next = "have the labels of the pod template in spec.selector.matchLabels"
	fields, _, _ := unstructured.NestedMap(p.Object.Object, "spec", "selector")
	var asked metav1.LabelSelector
	if runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &asked) != nil {
		return // the API server says what is wrong
	}
	selector, err := metav1.LabelSelectorAsSelector(&asked)
	switch at := []any{"spec", "selector"}; {
	case err != nil:
		c.stops(p.Manifest, at, next, "an operator in it is not known, or has other values than it needs")
	case selector.Empty():
		c.stops(p.Manifest, []any{"spec"}, next, "it has no selector")
	case !selector.Matches(labels.Set(p.labels)):
		c.stops(p.Manifest, at, next, "it does not select the pods of its template, which have the labels %q", labels.FormatLabels(p.labels))
	}
}
