package spread

import (
	"maps"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// placer counts pods by domain. It looks at all nodes only when one of them has changed: it is asked after each event, and a cluster with
// many nodes has many events.
type placer struct {
	topology string

	known    *history.State
	changes  int               // of the nodes
	selector map[string]string // the workload's node selector
	domains  map[string]string // of the nodes that the selector matches and that are in a domain
	open     map[string]bool   // the domains with a node that takes new pods
	closed   map[string]string // nodes that take none, and why
	names    []string          // of closed, sorted
}

// Place counts a workload's pods by domain.
func Place(s *history.State, w history.Workload, pods []history.Pod, topology string) *Distribution {
	p := placer{topology: topology}
	return p.place(s, w, pods)
}

// look looks at the nodes if they have changed, and reports whether it did.
func (p *placer) look(s *history.State, w history.Workload) bool {
	changes := s.NodeChanges()
	if p.known == s && p.changes == changes && maps.Equal(p.selector, w.NodeSelector) {
		return false
	}
	p.known, p.changes, p.selector = s, changes, w.NodeSelector
	p.domains, p.open, p.closed = make(map[string]string, len(s.Nodes)), make(map[string]bool), make(map[string]string)
	for name, n := range s.Nodes {
		domain, may := domainOf(n, w.NodeSelector, p.topology)
		if !may {
			continue
		}
		p.domains[name] = domain
		if why := closed(n); why != "" {
			p.closed[name] = why
			continue
		}
		p.open[domain] = true
	}
	p.names = slices.Sorted(maps.Keys(p.closed))
	return true
}

// place counts a workload's pods by domain.
func (p *placer) place(s *history.State, w history.Workload, pods []history.Pod) *Distribution {
	p.look(s, w)
	d := &Distribution{replicas: w.Replicas, Counts: make(map[string]int, len(p.open)), Outside: len(pods)}
	revisions := make(map[string]bool)
	on := make(map[string]bool, len(pods))
	for domain := range p.open {
		d.Counts[domain] = 0
	}
	for _, pod := range pods {
		revisions[pod.Labels[revisionLabel]] = true
		if domain, counts := p.domains[pod.Node]; counts {
			on[pod.Node] = true
			d.Counts[domain]++
			d.Outside--
		}
	}
	d.revisions = slices.Sorted(maps.Keys(revisions))
	for _, name := range p.names {
		if why := p.closed[name]; !on[name] && why != "tainted" { // such as the control plane, which is always tainted
			d.excluded = append(d.excluded, name+" ("+why+")")
		}
	}
	return d
}
