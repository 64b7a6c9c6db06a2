package audit

import "time"

// PendingRule is the ID of the rule about pods that a hard constraint keeps Pending.
const PendingRule = "pending-on-hard-constraint"

// Pending is a workload some of whose pods a hard constraint keeps Pending.
type Pending struct {
	Namespace, Kind, Name string
	// Pods is how many pods are kept Pending.
	Pods int
	// Since is when the first of them was found to be unschedulable, by the scheduler's clock.
	Since time.Time
	// Said is the scheduler's message about that pod.
	Said string
}

// Object names the workload in one word.
func (p Pending) Object() string { return p.Namespace + "/" + p.Kind + "/" + p.Name }

// PendingOnConstraints returns the workloads some of whose pods a hard constraint keeps Pending at this moment, however briefly. The rule
// pending-on-hard-constraint reports those that have been Pending for longer than PendingLimit. Like Audit it is a pure function.
func PendingOnConstraints(c Cluster) (all []Pending) {
	v := newView(&c, "")
	for i := range c.Workloads {
		s := subject{view: v, Workload: &c.Workloads[i]}
		if s.lacks(pendingOnHardConstraint) {
			continue
		}
		if pods := s.keptPending(neverTooShort); len(pods) > 0 {
			all = append(all, Pending{
				Namespace: s.Namespace, Kind: s.Kind, Name: s.Name, Pods: len(pods), Since: pods[0].Unschedulable, Said: pods[0].Said,
			})
		}
	}
	return all
}

// neverTooShort also accepts a pod that became Pending after the reading began, or on a scheduler whose clock is fast.
const neverTooShort = -1 << 62
