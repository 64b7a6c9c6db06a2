package requests

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
)

// PerWorker describes, for a run with several load workers, how many requests of the lanes each worker sent, how many failed, and
// on which node the worker was: clients on a node get their endpoints from that node's kube-proxy. It is empty for one worker.
func (t *Stats) PerWorker(lanes []history.Lane) string {
	if len(t.workers) < 2 {
		return ""
	}
	nodes := nodesOfPods(t.facts)
	words := make([]string, 0, len(t.workers))
	for _, w := range t.workers {
		var sent, failed uint64
		for _, row := range w.lanes {
			if slices.Contains(lanes, row.lane.lane) {
				sent, failed = sent+row.sent, failed+row.failed
			}
		}
		words = append(words, fmt.Sprintf("%d of %d from %s (%s)", failed, sent, cmp.Or(nodes[w.name], "an unknown node"), w.name))
	}
	slices.Sort(words)
	return "failed by load worker: " + strings.Join(words, ", ")
}

// nodesOfPods maps the names of pods to their nodes.
func nodesOfPods(f *evidence.Run) map[string]string {
	nodes := make(map[string]string)
	for _, e := range f.Record.Events {
		if e.Pod != nil && e.Pod.Node != "" {
			nodes[e.Pod.Name] = e.Pod.Node
		}
	}
	return nodes
}
