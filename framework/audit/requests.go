package audit

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

func checkNoReadinessProbe(s *subject) {
	serving, traffic := s.served()
	asked := slices.ContainsFunc(running(s.Template.Spec), func(c container) bool { return c.ReadinessProbe != nil })
	for _, c := range serving {
		if c.ReadinessProbe != nil {
			continue
		}
		f := Finding{Severity: c.severity(), Evidence: fmt.Sprintf("container %s, which Service %s sends requests to, has no readinessProbe", c.Name, c.service)}
		if !c.tcp {
			f.Caution = "decide which check shows that it can serve; a TCP check of a UDP port does not"
		} else {
			f.Caution = sentences("this only checks that the port accepts connections; an httpGet or grpc check of whether it can serve is better", s.rollout())
			f.Fix = s.patchContainer(c.container, object{"readinessProbe": object{
				"tcpSocket": object{"port": c.port}, "periodSeconds": 2, "failureThreshold": 2, "timeoutSeconds": 2,
			}})
		}
		s.find(f)
	}
	if len(serving) > 0 || asked {
		return
	}
	f := Finding{
		Evidence: "none of its containers has a readinessProbe",
		Caution:  "no patch can know how to check that it is ready: add an exec, httpGet or tcpSocket check of its own",
	}
	if !traffic {
		f.Severity = Note
	}
	s.find(f)
}

// preStopSeconds gives kube-proxy, ingresses and clients time to stop using the pod. On an idle cluster of eight nodes, one
// second was measured to lose requests and three to lose none; larger and busier clusters take longer.
const preStopSeconds = 5

// finishSeconds is how long a server gets after preStop to finish its requests: Kubernetes' default grace period.
const finishSeconds = 30

func checkNoPreStop(s *subject) {
	if s.Replicas == 1 && s.Update.MaxSurge == 0 {
		return
	}
	serving, _ := s.served()
	for _, c := range serving {
		lacking, seconds := s.withoutPreStop(c)
		if len(lacking) == 0 {
			continue
		}
		pod := object{}
		for _, one := range lacking {
			sleep := object{"name": one.Name, "lifecycle": object{"preStop": object{"sleep": object{"seconds": seconds}}}}
			list, _ := pod[one.list].([]object)
			pod[one.list] = append(list, sleep)
		}
		if s.grace() <= seconds {
			pod["terminationGracePeriodSeconds"] = seconds + finishSeconds
		}
		s.find(Finding{
			Severity: c.severity(), Evidence: earlySIGTERM(c, lacking),
			Fix:     s.patchPod(pod),
			Caution: sentences("the sleep action needs Kubernetes 1.30; on older versions, exec a sleep", s.rollout()),
		})
	}
}

// earlySIGTERM says which containers are told to end too early: the one that a Service sends requests to, or others that requests pass.
func earlySIGTERM(c served, lacking []container) string {
	if len(lacking) == 1 && lacking[0].Container == c.Container {
		return fmt.Sprintf("container %s, which Service %s sends requests to, gets SIGTERM while requests still arrive", c.Name, c.service)
	}
	var names []string
	for _, one := range lacking {
		names = append(names, one.Name)
	}
	what, get := "container", "gets"
	if len(names) > 1 {
		what, get = "containers", "get"
	}
	return fmt.Sprintf("%s %s, which requests to Service %s pass, %s SIGTERM while requests still arrive at %s", what, listNames(names), c.service, get, c.Name)
}

// withoutPreStop returns the containers that requests pass and that end too early, and how long each has to sleep. All sleep at the same time, so
// that none may sleep for less than another: with a proxy that outlives the application, each request fails while the proxy sleeps. A sidecar gets
// SIGTERM only after the containers behind it have ended, and needs no hook if they have one.
//
// Source: https://github.com/kubernetes/enhancements/tree/master/keps/sig-node/753-sidecar-containers
func (s *subject) withoutPreStop(c served) (lacking []container, seconds int64) {
	behind := s.behind(c)
	seconds = max(preStopSeconds, sleeps(c.Container))
	for _, b := range behind {
		seconds = max(seconds, sleeps(b.Container))
	}
	hasNone := func(c container) bool { return c.Lifecycle == nil || c.Lifecycle.PreStop == nil }
	front := c.list == "initContainers"
	for _, b := range behind {
		shorter := front && !hasNone(b) && b.Lifecycle.PreStop.Sleep != nil && sleeps(b.Container) < sleeps(c.Container)
		if hasNone(b) && (front || hasNone(c.container)) || shorter {
			lacking = append(lacking, b)
		}
	}
	if hasNone(c.container) && (!front || len(lacking) > 0) {
		lacking = append([]container{c.container}, lacking...)
	}
	return lacking, seconds
}

// behind returns the containers to which the one that a Service leads to may pass requests on: those that declare ports. A sidecar is in front of
// something, so that without any such ports it is all of them.
func (s *subject) behind(c served) (found []container) {
	var silent []container
	for _, other := range running(s.Template.Spec) {
		switch {
		case other.list == "initContainers" || other.Container == c.Container:
		case len(other.Ports) > 0:
			found = append(found, other)
		default:
			silent = append(silent, other)
		}
	}
	if len(found) == 0 && c.list == "initContainers" {
		return silent
	}
	return found
}

// grace returns the pod's grace period in seconds.
func (s *subject) grace() int64 {
	return ptr.Deref(s.Template.Spec.TerminationGracePeriodSeconds, defaultGrace)
}

// defaultGrace is the API's default.
const defaultGrace = 30

func checkShortGracePeriod(s *subject) {
	var longest int64
	var name string
	for _, c := range running(s.Template.Spec) {
		if seconds := sleeps(c.Container); seconds > longest {
			longest, name = seconds, c.Name
		}
	}
	if longest == 0 || s.grace() > longest {
		return
	}
	s.find(Finding{
		Evidence: fmt.Sprintf("container %s sleeps %d s in preStop, and terminationGracePeriodSeconds is %d", name, longest, s.grace()),
		Fix:      s.patchPod(object{"terminationGracePeriodSeconds": longest + finishSeconds}),
		Caution:  s.rollout(),
	})
}

// sleepCommand finds the seconds in `sleep 15`, also within a shell's command line. It ignores minutes, fractions and
// variables.
var sleepCommand = regexp.MustCompile(`(?:^|[\s;&/])sleep\s+(\d+)s?(?:$|[\s;&])`)

// sleeps returns how many seconds a container's preStop hook sleeps at least; 0 if it has none, or does something else.
func sleeps(c *corev1.Container) int64 {
	if c.Lifecycle == nil || c.Lifecycle.PreStop == nil {
		return 0
	}
	hook := c.Lifecycle.PreStop
	switch {
	case hook.Sleep != nil:
		return hook.Sleep.Seconds
	case hook.Exec != nil:
		var longest int64 // of several, not the sum: they may be on different branches
		for _, found := range sleepCommand.FindAllStringSubmatch(strings.Join(hook.Exec.Command, " "), -1) {
			if seconds, err := strconv.ParseInt(found[1], 10, 32); err == nil {
				longest = max(longest, seconds)
			}
		}
		return longest
	}
	return 0
}

func checkOffersUnreadyPods(s *subject) {
	for _, service := range s.services() {
		if !service.Spec.PublishNotReadyAddresses {
			continue
		}
		at := Target{Kind: "Service", Namespace: service.Namespace, Name: service.Name}
		s.find(Finding{
			Evidence: fmt.Sprintf("Service %s sends requests to its pods whether they are ready or not (publishNotReadyAddresses)", service.Name),
			Fix:      []Step{s.patch(at, MergePatch, object{"spec": object{"publishNotReadyAddresses": false}})},
			Caution:  "if its pods find each other by this Service, give them a second one with clusterIP None first",
		})
	}
}

func checkLivenessAsksReadiness(s *subject) {
	serving, _ := s.served()
	for _, c := range serving {
		live, ready := c.LivenessProbe, c.ReadinessProbe
		if c.metrics || live == nil || ready == nil || !reflect.DeepEqual(live.ProbeHandler, ready.ProbeHandler) || patience(live) > patience(ready) {
			continue
		}
		period := cmp.Or(live.PeriodSeconds, defaultPeriod)
		s.find(Finding{
			Caution: s.rollout(),
			Evidence: fmt.Sprintf("container %s, which Service %s sends requests to, is restarted after %d s without a good answer, and is not ready after %d s without the same answer",
				c.Name, c.service, patience(live), patience(ready)),
			Fix: s.patchContainer(c.container, object{"livenessProbe": object{"failureThreshold": (3*patience(ready) + period - 1) / period}}),
		})
	}
}

// The API's defaults of a probe.
const defaultPeriod, defaultFailures = 10, 3

// patience is for how many seconds a probe has to fail before it counts.
func patience(p *corev1.Probe) int32 {
	return cmp.Or(p.PeriodSeconds, defaultPeriod) * cmp.Or(p.FailureThreshold, defaultFailures)
}

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
	for _, service := range s.services() {
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

// services returns the Services that send requests to the subject's pods. One that ignores readiness and has no address is a Service by which pods find
// each other before they are ready.
func (s *subject) services() (all []*corev1.Service) {
	for _, service := range in(s.Namespace, s.cluster.Services) {
		spec := service.Spec
		forPeers := spec.PublishNotReadyAddresses && spec.ClusterIP == corev1.ClusterIPNone
		if len(spec.Selector) > 0 && includes(s.Template.Labels, spec.Selector) && !forPeers && spec.Type != corev1.ServiceTypeExternalName {
			all = append(all, service)
		}
	}
	return all
}

// aside are names of ports that are for metrics or debugging, and not for clients.
var aside = regexp.MustCompile(`(?i)(^|[^a-z])(metrics?|prom|prometheus|p?prof|profiler|profiling|debug|telemetry|monitoring)([^a-z]|$)|^status-port$`)

// ForMetrics reports whether a port is for metrics or debugging, by the name of its Service and by its own names, in the Service and in the pods.
func ForMetrics(service string, names ...string) bool {
	return strings.HasSuffix(service, "-metrics") || slices.ContainsFunc(names, aside.MatchString)
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
