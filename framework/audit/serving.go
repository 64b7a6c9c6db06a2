package audit

import (
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// served is a container that a Service sends requests to.
type served struct {
	container
	service string
	port    intstr.IntOrString // the port's name, if the container declares one
	tcp     bool
	metrics bool // nothing but metrics is asked of it
}

// severity is that of a finding about a container of which nothing but metrics is asked; empty: the rule's.
func (c served) severity() Severity {
	if c.metrics {
		return Note
	}
	return ""
}

// served returns the subject's containers that Services send requests to, each once. Traffic reports whether any Service
// selects the subject's pods at all: it is not always known which container a port leads to.
func (s *subject) served() (found []served, traffic bool) {
	for _, service := range s.inside(s.Namespace).services {
		selects := len(service.Spec.Selector) > 0 && includes(s.Template.Labels, service.Spec.Selector)
		if !selects || forPeers(service) || service.Spec.Type == corev1.ServiceTypeExternalName {
			continue
		}
		traffic = true
		for _, p := range service.Spec.Ports {
			c, ok := s.leadsTo(p)
			if !ok {
				continue
			}
			c.service, c.metrics = service.Name, ForMetrics(service.Name, p.Name, c.port.StrVal)
			if at := slices.IndexFunc(found, func(f served) bool { return f.Container == c.Container }); at < 0 {
				found = append(found, c)
			} else if found[at].metrics {
				found[at] = c
			}
		}
	}
	return found, traffic
}

// aside are names of ports that are for metrics or debugging, and not for clients.
var aside = regexp.MustCompile(`(?i)(^|[^a-z])(metrics?|prom|prometheus|p?prof|profiler|profiling|debug|telemetry|monitoring)([^a-z]|$)|^status-port$`)

// ForMetrics reports whether a port is for metrics or debugging, by the name of its Service and by its own names, in the Service and in the pods.
func ForMetrics(service string, names ...string) bool {
	return strings.HasSuffix(service, "-metrics") || slices.ContainsFunc(names, aside.MatchString)
}

// forPeers reports whether a Service is one by which pods find each other before they are ready: it ignores readiness, and has no address.
func forPeers(s *corev1.Service) bool {
	return s.Spec.PublishNotReadyAddresses && s.Spec.ClusterIP == corev1.ClusterIPNone
}

// leadsTo returns the container behind a Service's port.
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
	if len(all) == 1 && target.StrVal == "" { // containers need not declare their ports
		return served{container: all[0], port: target, tcp: tcp}, true
	}
	return served{}, false
}

// includes reports whether labels contain all of some.
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
