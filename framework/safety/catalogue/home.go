package catalogue

import "slices"

// Owning are the rights in holdfast's own namespace: the Lease by which one run at a time uses the cluster, the load workers, and the
// healer.
func Owning() (all []Right) {
	all = append(all, rights(Home, "coordination.k8s.io", "leases", "get list create update delete")...)
	all = append(all, rights(Home, "batch", "jobs", "get list watch create delete")...)
	all = append(all, rights(Home, Apps, "deployments", "get list watch create delete")...)
	all = append(all, rights(Home, Policy, "poddisruptionbudgets", "get create delete")...)
	all = append(all, rights(Home, "", "pods", "get list watch")...)
	all = append(all, rights(Home, "", "pods/log", "get")...)
	all = append(all, rights(Home, "", "pods/proxy", "get create update")...) // the load workers are asked through the API server
	return all
}

// Healing are the rights of the healer: to undo what these faults do, and to take the Lease. It can disturb nothing: it has no
// right to evict, and none to create a pod.
func Healing(faults []Fault) (all []Right) {
	all = append(all, rights(Home, "coordination.k8s.io", "leases", "get create update delete")...)
	for _, f := range faults {
		all = append(all, f.Undo()...)
	}
	return Distinct(all)
}

// Injecting are the rights of who injects some faults.
func Injecting(faults []Fault) (all []Right) {
	all = append(all, Reading(faults)...)
	all = append(all, Trying(faults)...)
	all = append(all, Owning()...)
	for _, f := range faults {
		all = append(all, f.Inject()...)
		all = append(all, f.Undo()...)
	}
	return Distinct(all)
}

// Distinct are the rights, each once. Of two that differ in Why only, the first is kept.
func Distinct(all []Right) (once []Right) {
	for _, r := range all {
		if !slices.ContainsFunc(once, func(has Right) bool { has.Why = r.Why; return has == r }) {
			once = append(once, r)
		}
	}
	return once
}
