package catalogue

import "github.com/holdfast-ha/holdfast/framework/judge/analysis/disturbances"

// NodeKill has a command of the user's own take a node away, and another bring it back. Kubernetes has no API for that, and holdfast has
// no credentials of clouds.
var NodeKill = Fault{
	Name:     "node-kill",
	Does:     "the command disturb.nodeKill.command takes a node away",
	EndsPods: true, OnNode: true, ByHook: true,
	// A node that is back before Kubernetes has noticed shows only in its containers.
	Seen: []disturbances.Kind{
		disturbances.NodeLost, disturbances.NodeUnready, disturbances.NodeRemoved, disturbances.TaintEviction, disturbances.Failure, disturbances.Restart,
	},
	injects: notes, undoes: takesBack,
}
