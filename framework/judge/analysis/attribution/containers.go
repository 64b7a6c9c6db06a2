package attribution

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
)

// A request may pass several containers of a pod: a proxy in front, and the application behind it. Which of them ends first decides how
// the request fails.

// front is the container that declares a port to which Services send requests; nil: the pod has one container, or it is not known which.
func front(p *timeline.Pod, ports map[string][]int32) (found *history.Container) {
	if p.Lifecycle == nil {
		return nil
	}
	for i := range p.Lifecycle.Containers {
		c := &p.Lifecycle.Containers[i]
		for service := range p.Endpoints {
			if !slices.ContainsFunc(ports[service], func(port int32) bool { return slices.Contains(c.Ports, port) }) {
				continue
			}
			if found != nil && found != c {
				return nil
			}
			found = c
		}
	}
	return found
}

// behind are the containers to which the one in front passes requests on, as far as is known: those that declare ports. A sidecar is always in
// front of something.
func (l *PodTimeline) behind() (list []history.Container) {
	if l.front == nil {
		return nil
	}
	var silent []history.Container
	for _, c := range l.Lifecycle.Containers {
		switch {
		case c.Sidecar || c.Name == l.front.Name:
		case len(c.Ports) > 0:
			list = append(list, c)
		default:
			silent = append(silent, c)
		}
	}
	if len(list) == 0 && l.front.Sidecar {
		return silent
	}
	return list
}

// preStop is how long the container that Services send requests to has from the deletion to SIGTERM. A sidecar gets it after the others have
// ended.
func (l *PodTimeline) preStop() time.Duration {
	if l.front == nil {
		return l.Lifecycle.PreStop
	}
	sleeps := l.front.PreStop
	for _, c := range l.Lifecycle.Containers {
		if l.front.Sidecar && !c.Sidecar {
			sleeps = max(sleeps, c.PreStop)
		}
	}
	return sleeps
}

// applicationEnds is how long the first container behind the one in front has from the deletion to SIGTERM; not known: there is none.
func (l *PodTimeline) applicationEnds() (sleeps time.Duration, known bool) {
	for i, c := range l.behind() {
		if i == 0 || c.PreStop < sleeps {
			sleeps = c.PreStop
		}
		known = true
	}
	return sleeps, known
}

// frontFirst reports whether the container in front was told to end before the application behind it.
func (l *PodTimeline) frontFirst() bool {
	application, known := l.applicationEnds()
	return known && l.preStop() < application
}

// applicationEnded reports whether the application behind the container in front had been told to end.
func (s *Timelines) applicationEnded(l *PodTimeline, at history.Offset) bool {
	sleeps, known := l.applicationEnds()
	if !known {
		return false
	}
	term := l.told(sleeps)
	return term.OK && at >= term.At-s.facts.Noise.Lateness()
}

// finer is what an engineer would change about a pod that does not listen, where its cause alone does not say it: the Service offers pods that
// are not ready, or the container in front ends before the application.
func (s *Timelines) finer(cause Cause, l *PodTimeline, services []string, at history.Offset) Cause {
	unready := cause == CauseReadyTooEarly || cause == CauseLateEndpoint || cause == CauseLateWithdrawal
	switch {
	case unready && s.foreign(l, services):
		return CauseForeignPod
	case unready && l.offeredUnready(services, at):
		return CauseOfferedUnready
	case cause == CauseLateEndpoint && l.frontFirst():
		return CauseFrontEndedFirst
	}
	return cause
}

// offeredUnready reports whether Services had the pod as a ready endpoint while it was not ready, or terminated. Only those with
// publishNotReadyAddresses do.
//
// Source: https://kubernetes.io/docs/reference/kubernetes-api/service-resources/endpoint-slice-v1/
func (l *PodTimeline) offeredUnready(services []string, at history.Offset) bool {
	return slices.ContainsFunc(services, func(service string) bool {
		return l.OfferedBetween(service, at-ProxyLag, at, func(e timeline.Endpoint) bool { return e.Ready && (!e.Serving || e.Terminating) })
	})
}

// containers says how long each container that a request passes has until SIGTERM: ", preStop sleep 0s of proxy, 5s of app".
func (l *PodTimeline) containers() string {
	text := fmt.Sprintf(", preStop sleep %s of %s", l.front.PreStop, l.front.Name)
	for _, c := range l.behind() {
		text += fmt.Sprintf(", %s of %s", c.PreStop, c.Name)
	}
	return text
}
