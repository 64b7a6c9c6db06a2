package catalogue

// DeletePod evicts one pod. It is called as on clusters of holdfast's own, where the pod is deleted: here its budget must have a say.
var DeletePod = Fault{
	Name:     "delete-pod",
	Does:     "the eviction of a pod",
	EndsPods: true, Evicts: true,
	changes: evictions(App),
}
