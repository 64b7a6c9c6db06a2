package catalogue

import "github.com/holdfast-ha/holdfast/framework/judge/analysis/disturbances"

// Cordon cordons one node. Its pods stay.
var Cordon = Fault{
	Name:   "cordon",
	Does:   "a node is cordoned, and its pods stay",
	OnNode: true, injects: notes, undoes: takesBack,
	Seen: []disturbances.Kind{disturbances.Cordon, disturbances.Drain}, // a pod may end meanwhile
}
