package audit

import (
	"fmt"

	"k8s.io/utils/ptr"
)

var noPreStop = Rule{
	ID: "no-prestop", Severity: Warning,
	Title: "no preStop hook",
	Why: "A pod gets SIGTERM at the same moment as the proxies that send it requests learn that it ends. Without some seconds " +
		"between the two, each rollout, drain and scale-down refuses some requests. A server that keeps serving for some " +
		"seconds after SIGTERM needs no preStop hook, but an audit cannot see whether it does. Nothing is found where no other pod could take the requests: " +
		"a single replica that ends before another takes its place. A Note if it is asked for nothing but metrics.",
	Doc: docEndpointFlow, needs: []Resource{Services}, check: checkNoPreStop,
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
