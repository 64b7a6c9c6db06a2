package catalogue

import (
	"github.com/holdfast-ha/holdfast/framework/fault/journal"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/disturbances"
)

// Scale changes the number of replicas: one more, one less than before, and back.
var Scale = Fault{
	Name:     "scale",
	Does:     "one replica more, then one less than before",
	EndsPods: true,
	Edits:    "spec.replicas",
	Seen:     []disturbances.Kind{disturbances.Scale},
	changes:  scales(),
}

func scales() (all []journal.Change) {
	for _, w := range workloads() {
		all = append(all, journal.Scale(w, 1))
	}
	return all
}
