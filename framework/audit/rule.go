package audit

// Severity is how serious a finding is. The words are SARIF's.
type Severity string

// The severities.
const (
	// Error: the workload is broken already, or losing one node, zone or pod takes it down, or a drain can never complete.
	Error Severity = "error"
	// Warning: routine operations lose requests, or the next disturbance turns the finding into an Error.
	Warning Severity = "warning"
	// Note: worth knowing, but no change to the workload is needed.
	Note Severity = "note"
)

// AtLeast reports whether s is as severe as other, or more severe.
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
	Severity Severity // the default of its findings
	Title    string   // what is wrong
	Why      string   // what it costs, and what the rule does not check
	Doc      string   // the page of Kubernetes' documentation
	needs    []Resource
	check    func(*subject)
	// checkBudget, in place of check, is about a budget: the subject has its kind and its name.
	checkBudget func(*subject, cover)
}

// Rules lists all rules, the most severe first. A new rule is one file with its test, and a line here.
var Rules = []Rule{
	oneNode,
	oneZone,
	singleReplica,
	pendingOnHardConstraint,
	unmeetableAntiAffinity,
	noRoomToSurge,
	quotaStopsRollout,
	budgetBlocksDrains,
	noBudget,
	budgetCoversNothing,
	unhealthyPodsBlockDrains,
	autoscalerMinimum,
	recreatesAllPods,
	noSpread,
	unusableDomain,
	softConstraintViolated,
	noReadinessProbe,
	noPreStop,
	offersUnreadyPods,
	shortGracePeriod,
	noMatchLabelKeys,
	fixedNodePorts,
	livenessAsksReadiness,
}

// Documentation that rules refer to.
const (
	docSpread       = "https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/"
	docAffinity     = "https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#inter-pod-affinity-and-anti-affinity"
	docZones        = "https://kubernetes.io/docs/setup/best-practices/multiple-zones/"
	docDisruptions  = "https://kubernetes.io/docs/concepts/workloads/pods/disruptions/"
	docBudget       = "https://kubernetes.io/docs/tasks/run-application/configure-pdb/"
	docProbes       = "https://kubernetes.io/docs/tasks/configure-pod-container/configure-liveness-readiness-startup-probes/"
	docTermination  = "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination"
	docEndpointFlow = "https://kubernetes.io/docs/tutorials/services/pods-and-endpoint-termination-flow/"
	docService      = "https://kubernetes.io/docs/reference/kubernetes-api/service-resources/service-v1/#ServiceSpec"
	docNodePort     = "https://kubernetes.io/docs/concepts/services-networking/service/#type-nodeport"
)
