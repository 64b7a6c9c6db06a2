package spread

import (
	"maps"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// Placer counts pods by domain. It looks at all nodes once, and later at those that have changed: it is asked after each event, and a cluster
// with many nodes has many events.
type Placer struct {
	topology string

	known    *history.State
	changes  int               // of the nodes
	selector map[string]string // the workload's node selector
	domains  map[string]string // of the nodes that the selector matches and that are in a domain
	open     map[string]int    // by domain: its nodes that take new pods
	closed   map[string]string // nodes in a domain that take none, and why
	names    []string          // of closed, without the tainted ones, sorted
}

// NewPlacer counts pods by the domains of a topology, such as zones.
func NewPlacer(topology string) *Placer { return &Placer{topology: topology} }

// look looks at the nodes that have changed, and returns their names: at all nodes the first time, and when the workload chooses others.
func (p *Placer) look(s *history.State, w history.Workload) (changed []string) {
	if p.known == s {
		changed = s.NodesChanged(p.changes)
	}
	if p.known != s || !maps.Equal(p.selector, w.NodeSelector) {
		p.known, p.selector, p.names = s, w.NodeSelector, nil
		p.domains, p.open, p.closed = make(map[string]string, len(s.Nodes)), make(map[string]int), make(map[string]string)
		changed = slices.AppendSeq(slices.Clone(changed), maps.Keys(s.Nodes))
	}
	p.changes = s.NodeChanges()
	for _, name := range changed {
		p.forget(name)
		if n, there := s.Nodes[name]; there {
			p.learn(n)
		}
	}
	return changed
}

// forget takes a node out of what is known.
func (p *Placer) forget(name string) {
	domain, counts := p.domains[name]
	if !counts {
		return
	}
	delete(p.domains, name)
	if _, shut := p.closed[name]; shut {
		delete(p.closed, name)
		if i, found := slices.BinarySearch(p.names, name); found {
			p.names = slices.Delete(p.names, i, i+1)
		}
		return
	}
	if p.open[domain]--; p.open[domain] == 0 {
		delete(p.open, domain)
	}
}

// learn adds a node that is not known.
func (p *Placer) learn(n history.Node) {
	domain, may := domainOf(n, p.selector, p.topology)
	if !may {
		return
	}
	p.domains[n.Name] = domain
	why := closed(n)
	if why == "" {
		p.open[domain]++
		return
	}
	p.closed[n.Name] = why
	if why != "tainted" { // such as the control plane, which is always tainted
		i, _ := slices.BinarySearch(p.names, n.Name)
		p.names = slices.Insert(p.names, i, n.Name)
	}
}

// Place counts a workload's pods by domain.
func (p *Placer) Place(s *history.State, w history.Workload, pods []history.Pod) *Distribution {
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
		if !on[name] {
			d.excluded = append(d.excluded, name+" ("+p.closed[name]+")")
		}
	}
	return d
}
