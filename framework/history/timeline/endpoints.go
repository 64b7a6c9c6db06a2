package timeline

import (
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// Endpoint is how a Service's EndpointSlices described a pod. The zero value: not at all.
type Endpoint struct{ Ready, Serving, Terminating bool }

// endpointSlices are the current EndpointSlices of all Services.
type endpointSlices map[history.Key]*history.Slice

// see takes in a report of an EndpointSlice.
func (s endpointSlices) see(t *Timeline, at history.Offset, seen *history.Slice) {
	key := history.Key{Namespace: seen.Namespace, Name: seen.Name}
	if s[key] = seen; seen.Change == history.Deleted {
		delete(s, key)
	}
	if _, known := t.Services[seen.Service]; !known {
		t.Services[seen.Service] = nil
	}
	for _, port := range seen.Ports {
		if !slices.Contains(t.Ports[seen.Service], port) {
			t.Ports[seen.Service] = append(t.Ports[seen.Service], port)
		}
	}
	now := make(map[*Pod]Endpoint)
	for _, slice := range s {
		if slice.Service != seen.Service {
			continue
		}
		for i := range slice.Endpoints {
			e := &slice.Endpoints[i]
			if p := t.endpoint(e, at); p != nil {
				now[p] = now[p].and(e)
			}
		}
	}
	for _, p := range t.Pods {
		endpoint, is := now[p]
		if _, was := p.Endpoints[seen.Service]; is || was {
			p.endpoint(seen.Service, at, endpoint)
		}
	}
}

// and adds another slice's description of the same pod. While endpoints are moved between slices, two slices may contain the
// same one.
//
// Source: https://kubernetes.io/docs/concepts/services-networking/endpoint-slices/#duplicate-endpoints
func (e Endpoint) and(other *history.Endpoint) Endpoint {
	return Endpoint{e.Ready || other.Ready, e.Serving || other.Serving, e.Terminating || other.Terminating}
}

// endpoint is the pod that an endpoint leads to: the one of its name that had its address.
func (t *Timeline) endpoint(e *history.Endpoint, at history.Offset) *Pod {
	for _, p := range t.byName[e.Pod] {
		if p.IP == e.IP {
			return p
		}
	}
	return t.Pod(e.Pod, at)
}

func (p *Pod) endpoint(service string, at history.Offset, now Endpoint) {
	list := p.Endpoints[service]
	if n := len(list); n > 0 && list[n-1].Value == now {
		return
	}
	p.Endpoints[service] = append(list, Point[Endpoint]{at, now})
	if now.Ready {
		p.Offered.First(at)
	}
}

// Withdrawn is when a Service last stopped having the pod as a ready endpoint, at or before a moment; not OK if none did.
func (p *Pod) Withdrawn(before history.Offset) (m history.Moment) {
	for _, list := range p.Endpoints {
		for i := 1; i < len(list) && list[i].At <= before; i++ {
			if list[i-1].Value.Ready && !list[i].Value.Ready {
				m = history.Moment{At: max(m.At, list[i].At), OK: true}
			}
		}
	}
	return m
}
