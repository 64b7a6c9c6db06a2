package audit

import (
	"fmt"
	"maps"
	"slices"
)

var oneNode = Rule{
	ID: "one-node", Severity: Error,
	Title: "all replicas are on one node",
	Why: "A lost node takes every replica with it, and Kubernetes starts replacements only when it has noticed the loss: with its " +
		"defaults after more than five minutes. Replicas are spread strictly only if a constraint requires it.",
	Doc: docSpread, needs: []Resource{Pods}, check: checkOneNode,
}

func checkOneNode(s *subject) {
	placed, on := s.placed(), s.hosts()
	if s.Replicas < 2 || len(placed) < 2 || len(on) > 1 {
		return
	}
	fix, caution := s.spreadOut()
	s.find(Finding{Evidence: fmt.Sprintf("all %d placed pods are on node %s", len(placed), on[0]), Fix: fix, Caution: caution})
}

// hosts returns the names of the nodes that the subject's pods are on.
func (s *subject) hosts() []string {
	found := map[string]bool{}
	for _, p := range s.placed() {
		found[p.Node] = true
	}
	return slices.Sorted(maps.Keys(found))
}
