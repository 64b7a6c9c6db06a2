package audit

// Severity says what a finding threatens. The words are SARIF's.
type Severity string

// The severities.
const (
	// Error: it is out of order already, or one node, zone or pod takes the whole workload with it, or nothing can be
	// drained.
	Error Severity = "error"
	// Warning: requests are lost in what should be routine, or the next disturbance makes an Error of it.
	Warning Severity = "warning"
	// Note: worth knowing; nothing that a change to the workload must mend.
	Note Severity = "note"
)

// AtLeast tells whether s is as severe as other, or more.
func (s Severity) AtLeast(other Severity) bool { return s.rank() <= other.rank() }

func (s Severity) rank() int {
	switch s {
	case Error:
		return 0
	case Warning:
		return 1
	}
	return 2
}

// Rule finds one kind of single point of failure.
type Rule struct {
	ID       string
	Severity Severity // of most of its findings
	Title    string   // what is wrong
	Why      string   // what it costs, and what the rule does not see
	Doc      string   // where Kubernetes says so
	needs    []Resource
	check    func(*subject)
}

// Rules are all there are, the gravest first. Another one is one file with its test beside it, and a line here.
var Rules = []Rule{
	oneNode,
	oneZone,
	singleReplica,
	pendingOnHardConstraint,
	unmeetableAntiAffinity,
	budgetBlocksDrains,
	noBudget,
	unusableDomain,
	softConstraintViolated,
	noReadinessProbe,
	noPreStop,
	shortGracePeriod,
	noMatchLabelKeys,
	fixedNodePorts,
}

// Documentation that several rules rest on.
const (
	docSpread       = "https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/"
	docAffinity     = "https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#inter-pod-affinity-and-anti-affinity"
	docZones        = "https://kubernetes.io/docs/setup/best-practices/multiple-zones/"
	docDisruptions  = "https://kubernetes.io/docs/concepts/workloads/pods/disruptions/"
	docBudget       = "https://kubernetes.io/docs/tasks/run-application/configure-pdb/"
	docProbes       = "https://kubernetes.io/docs/tasks/configure-pod-container/configure-liveness-readiness-startup-probes/"
	docTermination  = "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination"
	docEndpointFlow = "https://kubernetes.io/docs/tutorials/services/pods-and-endpoint-termination-flow/"
	docNodePort     = "https://kubernetes.io/docs/concepts/services-networking/service/#type-nodeport"
)
