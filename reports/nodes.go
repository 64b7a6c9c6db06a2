package reports

import (
	"cmp"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
	objects "github.com/holdfast-ha/holdfast/framework/history/timeline"
)

// zones arranges nodes and the pods that were bound to them by topology domain, named zones first. A node without a zone is listed only
// if it has pods, because scenarios are not about control planes.
func zones(events []history.Event, end history.Offset) []Zone {
	seen := objects.New(events)
	nodes, zoneOf := make(map[string]*Node), make(map[string]string)
	for name, node := range seen.Nodes {
		nodes[name], zoneOf[name] = &Node{Name: name, Spans: node.Spans(end)}, node.Zone
	}
	podsOn := pods(events, seen, end)
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
