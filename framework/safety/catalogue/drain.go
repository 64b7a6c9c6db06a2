package catalogue

import (
	"github.com/holdfast-ha/holdfast/framework/fault/journal"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/disturbances"
)

// RunMark is the annotation of a node that says which run disturbs it (rule 20).
const RunMark = "holdfast.dev/run"

// Drain cordons one node and evicts its pods. Nothing is forced: see rule 9.
var Drain = Fault{
	Name:     "drain",
	Does:     "a node is cordoned and its pods are evicted",
	EndsPods: true, Evicts: true, OnNode: true,
	Seen:    []disturbances.Kind{disturbances.Drain},
	changes: append(evictions(App, Beside), closing()...),
}

// closing are the changes of a node that takes no more pods.
func closing() []journal.Change { return []journal.Change{Mark(some, some), journal.Cordon(some)} }

// Mark tells on a node which run disturbs it.
func Mark(node, run string) journal.Change {
	return journal.Change{
		What: "annotate " + node + " with the run", Action: journal.Set, Object: journal.Object{Version: "v1", Resource: "nodes", Name: node},
		Field: journal.Pointer("metadata", "annotations", RunMark), Value: run,
	}
}
