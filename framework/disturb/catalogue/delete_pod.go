package catalogue

// DeletePod evicts one pod. It is called as on clusters of holdfast's own, where the pod is deleted: here its budget must have a say.
var DeletePod = Fault{
	Name:     "delete-pod",
	Does:     "the eviction of a pod",
	Undone:   "nothing is to be undone: the controller of the pod makes another",
	EndsPods: true, Evicts: true,
	changes: evictions(App),
}
