package audit

var singleReplica = Rule{
	ID: "single-replica", Severity: Error,
	Title: "there is a single replica",
	Why: "Whatever ends its pod (a lost node, a drain, an eviction, lack of memory) is an outage until another pod is ready. " +
		"A Warning for a StatefulSet, which may not be built to run several replicas.",
	Doc: docDisruptions, check: checkSingleReplica,
}

func checkSingleReplica(s *subject) {
	if s.Replicas != 1 {
		return
	}
	f := Finding{Evidence: "spec.replicas is 1", Caution: "where a HorizontalPodAutoscaler scales it, raise its minReplicas instead"}
	if s.Kind == StatefulSet {
		f.Severity = Warning
		f.Caution = sentences("only if it is built to run several replicas: a second replica of most databases is a second, empty database", f.Caution)
	} else if s.Claims {
		f.Caution = sentences("a volume that one node holds cannot serve two replicas", f.Caution)
	}
	wanted := min(max(len(s.homes().domains(zoneKey)), 2), 3) // one per zone, at least two and at most three
	f.Fix = []Step{s.patch(s.target(), StrategicPatch, object{"spec": object{"replicas": wanted}})}
	s.find(f)
}
