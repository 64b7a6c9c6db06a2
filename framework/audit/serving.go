package audit

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// served is a container that a Service sends traffic to.
type served struct {
	container
	service string
	port    intstr.IntOrString // its name, if the container gives it one
	tcp     bool
}

// served are the subject's containers that Services send traffic to, each once. Traffic tells whether any Service
// selects its pods at all: which container a port leads to cannot always be told.
func (s *subject) served() (found []served, traffic bool) {
	for _, service := range s.cluster.Services {
		selects := service.Namespace == s.Namespace && len(service.Spec.Selector) > 0 && includes(s.Template.Labels, service.Spec.Selector)
		if !selects || service.Spec.PublishNotReadyAddresses || service.Spec.Type == corev1.ServiceTypeExternalName {
			continue // nor does one that publishes pods that are not ready care for readiness
		}
		traffic = true
		for _, p := range service.Spec.Ports {
			c, ok := s.leadsTo(p)
			if ok && !slices.ContainsFunc(found, func(f served) bool { return f.Container == c.Container }) {
				c.service = service.Name
				found = append(found, c)
			}
		}
	}
	return found, traffic
}

// leadsTo is the container behind a Service's port.
func (s *subject) leadsTo(p corev1.ServicePort) (served, bool) {
	target, all := p.TargetPort, running(s.Template.Spec)
	if target == (intstr.IntOrString{}) {
		target = intstr.FromInt32(p.Port)
	}
	tcp := p.Protocol == "" || p.Protocol == corev1.ProtocolTCP
	for _, c := range all {
		for _, port := range c.Ports {
			if target.StrVal != "" && port.Name == target.StrVal || target.StrVal == "" && port.ContainerPort == target.IntVal {
				if port.Name != "" {
					target = intstr.FromString(port.Name)
				}
				return served{container: c, port: target, tcp: tcp}, true
			}
		}
	}
	if len(all) == 1 && target.StrVal == "" { // a container need not declare its ports
		return served{container: all[0], port: target, tcp: tcp}, true
	}
	return served{}, false
}

// includes tells whether labels have all of some.
func includes(labels, some map[string]string) bool {
	for key, value := range some {
		if labels[key] != value {
			return false
		}
	}
	return true
}

// patchContainer merges a change into one container.
func (s *subject) patchContainer(c container, change object) []Step {
	change["name"] = c.Name
	return s.patchPod(object{c.list: []object{change}})
}
