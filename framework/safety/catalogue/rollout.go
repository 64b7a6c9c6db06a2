package catalogue

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault/journal"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/disturbances"
)

// RestartedAt is the annotation of the pod template that `kubectl rollout restart` sets. GitOps tools do not have it in their manifests,
// so they neither own it nor revert it.
const RestartedAt = "kubectl.kubernetes.io/restartedAt"

// Rollout replaces all pods by a rolling update, as `kubectl rollout restart` does.
var Rollout = Fault{
	Name:     "rollout",
	Does:     "a rolling update, as by kubectl rollout restart",
	EndsPods: true,
	Edits:    "spec.template.metadata.annotations." + RestartedAt,
	Seen:     []disturbances.Kind{disturbances.Rollout},
	changes:  restarts(),
}

func restarts() (all []journal.Change) {
	for _, w := range workloads() {
		all = append(all, journal.Restart(w, time.Time{}))
	}
	return all
}
