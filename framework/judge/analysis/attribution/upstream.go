package attribution

import (
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
)

// upstream attributes an error that the gateway itself returned.
func (s *Timelines) upstream(kind FailureGroup, at history.Offset) Attribution {
	behind, front := s.target, s.fronts[kind.Lane]
	if front != nil {
		behind = front.Backends
	}
	a := s.look(behind, at, ProxyLag, false)
	if found, ok := s.withdrew(behind, at); ok {
		return found
	}
	if a.fine == 0 {
		if found, ok := s.outage(behind, at, a.troubled); ok {
			return found
		}
		if found, ok := s.choose(kind, at, a); ok {
			return found
		}
		if front == nil {
			return nobody()
		}
		return s.ownFault(kind, at)
	}
	if front == nil { // which may have nodes for upstreams; a front has pods
		if lost := s.lostAt(at); len(lost) > 0 {
			found := oneOfNodes(CauseDeadUpstream, lost)
			found.Phase = PhaseNodeLost
			return found
		}
		if empty := s.emptyAt(at); len(empty) > 0 {
			return oneOfNodes(CauseEmptyUpstream, empty)
		}
	}
	if found, ok := s.choose(FailureGroup{}, at, around{fine: a.fine, troubled: a.troubled}); ok {
		return found
	}
	return s.ownFault(kind, at)
}

// oneOfNodes attributes a failure to one of several nodes.
func oneOfNodes(cause Cause, nodes []string) Attribution {
	a := Attribution{Cause: cause, Confidence: ConfidenceOneOf}
	for _, node := range nodes {
		a.Among = append(a.Among, PodOn{Node: node})
	}
	if len(nodes) == 1 {
		a.Confidence, a.Node = ConfidenceOnly, nodes[0]
	}
	return a
}

// lostAt are the nodes that were lost at a moment.
func (s *Timelines) lostAt(at history.Offset) (names []string) {
	for _, n := range s.absences {
		if n.seen && n.from <= at && at <= n.until() && !slices.Contains(names, n.node) {
			names = append(names, n.node)
		}
	}
	return names
}

// until is when the node may have served again.
func (n absence) until() history.Offset {
	if n.to == evidence.Never {
		return evidence.Never
	}
	return n.to + returning
}

// emptyAt are the nodes that had a ready endpoint before and have none now, or none that all proxies know yet.
func (s *Timelines) emptyAt(at history.Offset) (names []string) {
	full := make(map[string]bool)
	ready := func(o timeline.Endpoint) bool { return o.Ready }
	for _, service := range s.target {
		for _, l := range s.Sorted(service) {
			switch {
			case l.OfferedBetween(service, at, at, ready) && l.OfferedBetween(service, at-lateStart, at-lateStart, ready):
				full[l.Node] = true
			case l.Offered.OK && l.Offered.At <= at && l.Node != "" && !slices.Contains(names, l.Node):
				names = append(names, l.Node)
			}
		}
	}
	return slices.DeleteFunc(names, func(n string) bool { return full[n] })
}
