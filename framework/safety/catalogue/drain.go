package catalogue

import "github.com/holdfast-ha/holdfast/framework/judge/analysis/disturbances"

// Drain cordons one node and evicts its pods. Nothing is forced: see rule 9.
var Drain = Fault{
	Name:     "drain",
	Does:     "a node is cordoned and its pods are evicted",
	EndsPods: true, Evicts: true, OnNode: true,
	Seen:    []disturbances.Kind{disturbances.Drain},
	injects: append(evictions(App, Beside), notes...), undoes: takesBack,
}
