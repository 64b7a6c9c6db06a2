package catalogue

import (
	"github.com/holdfast-ha/holdfast/framework/fault/undo"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/disturbances"
)

// Rollout replaces all pods by a rolling update, as `kubectl rollout restart` does. GitOps tools do not have its annotation in their manifests, so they
// neither own it nor revert it.
var Rollout = Fault{
	Name:     "rollout",
	Does:     "a rolling update, as by kubectl rollout restart",
	EndsPods: true,
	Edits:    string(undo.Restarted),
	Seen:     []disturbances.Kind{disturbances.Rollout},
	injects:  edits, undoes: putsBack,
}
