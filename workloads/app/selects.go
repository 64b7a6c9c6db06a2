package app

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Selects says what a Service selects that selects no pods of a workload, for an error.
func (a App) Selects(s Service) string {
	if len(s.Selector) == 0 {
		return "it has no selector"
	}
	var others, nearest []string
	for _, m := range a.Manifests {
		own := m.PodLabels()
		if len(own) == 0 || m.Object.GetNamespace() != a.Namespace {
			continue
		}
		name := m.Object.GetKind() + " " + m.Object.GetName()
		if labels.SelectorFromSet(s.Selector).Matches(labels.Set(own)) {
			others = append(others, name)
			continue
		}
		var differ []string
		for _, key := range slices.Sorted(maps.Keys(s.Selector)) {
			switch value, has := own[key]; {
			case !has:
				differ = append(differ, fmt.Sprintf("%s has no label %s", name, key))
			case value != s.Selector[key]:
				differ = append(differ, fmt.Sprintf("%s has %s=%s", name, key, value))
			}
		}
		if tested(m.Object) && (nearest == nil || len(differ) < len(nearest)) {
			nearest = differ
		}
	}
	if len(others) > 0 {
		return "it selects those of " + strings.Join(others, ", ")
	}
	return fmt.Sprintf("it selects none, by %s: %s", labels.FormatLabels(s.Selector), strings.Join(nearest, ", "))
}

// PodLabels are the labels of an object's pods, also of a kind that is not known, such as Rollout; nil: it has none.
func (m Manifest) PodLabels() map[string]string {
	path := template
	if own, known := podSpecs[m.Object.GetKind()]; known {
		path = own
	}
	own, _, _ := unstructured.NestedStringMap(m.Object.Object, append(slices.Clone(path[:len(path)-1]), "metadata", "labels")...)
	return own
}

// PortsOf are the ports at which a Service is asked. The pods of a headless one are asked at their own, because nothing translates them; none: at any.
func (a App) PortsOf(s Service) (ports []string) {
	for _, p := range s.Ports {
		switch {
		case !s.Headless || p.TargetPort == (intstr.IntOrString{}):
			ports = append(ports, strconv.Itoa(int(p.Port)))
		case p.TargetPort.Type == intstr.Int:
			ports = append(ports, p.TargetPort.String())
		default:
			ports = append(ports, a.named(s, p.TargetPort.StrVal)...)
		}
	}
	return ports
}

// HasNodePort reports whether the manifest gives a port of the Service this port of the nodes.
func (s Service) HasNodePort(port string) bool {
	return slices.ContainsFunc(s.Ports, func(p corev1.ServicePort) bool { return p.NodePort > 0 && strconv.Itoa(int(p.NodePort)) == port })
}

// AtNodes reports whether clients outside of the cluster who know a port of the Service ask the nodes, and not the address of a load balancer.
func (s Service) AtNodes(port string) bool { return s.NodePort || s.HasNodePort(port) }

// Unnamed is the name of a port of the pods to which a port of a Service leads, and that no container has; empty: one has it, or the port is a number.
func (a App) Unnamed(s Service, port string) string {
	for _, p := range s.Ports {
		if name := p.TargetPort.StrVal; strconv.Itoa(int(p.Port)) == port && name != "" && len(a.named(s, name)) == 0 {
			return name
		}
	}
	return ""
}

// Running are the containers that run as long as the pods do. An init container that is restarted runs beside the others.
func (w Workload) Running() []corev1.Container {
	once := func(c corev1.Container) bool {
		return c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways
	}
	return slices.Concat(w.Template.Spec.Containers, slices.DeleteFunc(slices.Clone(w.Template.Spec.InitContainers), once))
}

// named are the ports of a name of the pods that a Service selects.
func (a App) named(s Service, name string) (ports []string) {
	for _, w := range a.Behind(s.Name) {
		for _, c := range w.Running() {
			for _, p := range c.Ports {
				if p.Name == name {
					ports = append(ports, strconv.Itoa(int(p.ContainerPort)))
				}
			}
		}
	}
	return ports
}
