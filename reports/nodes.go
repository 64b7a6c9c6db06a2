package reports

import (
	"cmp"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

const zoneLabel = "topology.kubernetes.io/zone"

// zones arranges nodes and the pods that were bound to them by topology domain, named zones first. A node without a zone is listed only
// if it has pods, because scenarios are not about control planes.
func zones(events []history.Event, end history.Offset) []Zone {
	nodes, zoneOf := nodeSpans(events, end)
	podsOn := pods(events, end)
	for name := range podsOn {
		if nodes[name] == nil {
			nodes[name] = &Node{Name: name}
		}
	}
	byZone := make(map[string][]Node)
	for name, node := range nodes {
		if node.Pods = podsOn[name]; zoneOf[name] != "" || len(node.Pods) > 0 {
			byZone[zoneOf[name]] = append(byZone[zoneOf[name]], *node)
		}
	}
	var list []Zone
	for name, in := range byZone {
		slices.SortFunc(in, func(a, b Node) int { return namedFirst(a.Name, b.Name) })
		list = append(list, Zone{Name: name, Nodes: in})
	}
	slices.SortFunc(list, func(a, b Zone) int { return namedFirst(a.Name, b.Name) })
	return list
}

func namedFirst(a, b string) int {
	if (a == "") != (b == "") {
		return cmp.Compare(b, a)
	}
	return cmp.Compare(a, b)
}

func nodeSpans(events []history.Event, end history.Offset) (nodes map[string]*Node, zoneOf map[string]string) {
	nodes, zoneOf = make(map[string]*Node), make(map[string]string)
	for i := range events {
		n := events[i].Node
		if n == nil {
			continue
		}
		if nodes[n.Name] == nil {
			nodes[n.Name] = &Node{Name: n.Name}
		}
		if zone := n.Labels[zoneLabel]; zone != "" {
			zoneOf[n.Name] = zone
		}
		nodes[n.Name].see(events[i].T, n, end)
	}
	return nodes, zoneOf
}

// see closes the last span at t and opens one for the state that the watch reported.
func (n *Node) see(t history.Offset, seen *history.Node, end history.Offset) {
	state := nodeState(seen)
	if last := len(n.Spans) - 1; last >= 0 && n.Spans[last].To > t {
		if n.Spans[last].State == state && seen.Change != history.Deleted {
			return
		}
		n.Spans[last].To = t
	}
	if seen.Change != history.Deleted {
		n.Spans = append(n.Spans, NodeSpan{State: state, From: t, To: end})
	}
}

func nodeState(n *history.Node) NodeState {
	switch {
	case n.Ready != "True":
		return NodeNotReady
	case n.Unschedulable:
		return NodeCordoned
	}
	return NodeReady
}
