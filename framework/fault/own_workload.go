package fault

// ChangesOnlyItsWorkload reports whether a fault changes nothing but the workload under test: no node, no component of the cluster, and no other
// workload. Scenarios with such faults can run at the same time on one cluster.
func ChangesOnlyItsWorkload(f Fault) bool {
	switch f := f.(type) {
	case BadRollout, Evict, PodDelete, Resize, Rollout, Scale, TryRollout:
		return true
	case RevertImmediately:
		return ChangesOnlyItsWorkload(f.Fault)
	}
	return false
}
