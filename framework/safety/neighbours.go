package disturb

import "slices"

var neighbours = Rule{
	Number: 11, ID: "neighbours", Beyond: true,
	Promise: "the file lists every other namespace with pods on a node that is drained",
	needs:   []string{"pods"},
	step: func(s *sight) {
		if !s.fault().OnNode || s.step.node == nil {
			return
		}
		for _, n := range s.step.namespaces() {
			if !s.listed(n) {
				s.refuse(s.namespace(n), "if its pods may be evicted, list it in the file: disturb: {neighbours: ["+n+"]}",
					"it has pods on %s, and the file does not list it", s.step.node.Name)
			}
		}
	},
}

// listed reports whether pods of a namespace may be evicted with a node.
func (s *sight) listed(namespace string) bool {
	return namespace == s.Namespace || slices.Contains(s.Limits.Neighbours, namespace)
}
