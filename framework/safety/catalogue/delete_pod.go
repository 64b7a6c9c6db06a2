package catalogue

import "github.com/holdfast-ha/holdfast/framework/judge/analysis/disturbances"

// DeletePod evicts one pod. It is called as on clusters of holdfast's own, where the pod is deleted: here its budget must have a say.
var DeletePod = Fault{
	Name:     "delete-pod",
	Does:     "the eviction of a pod",
	EndsPods: true, Evicts: true,
	// On a node that another client has cordoned it looks like a part of a drain.
	Seen:    []disturbances.Kind{disturbances.Eviction, disturbances.Deletion, disturbances.Drain},
	injects: evictions(App),
}
