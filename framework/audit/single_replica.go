package audit

var singleReplica = Rule{
	ID: "single-replica", Severity: Error,
	Title: "there is a single replica",
	Why: "Whatever ends its pod (a node, a drain, an eviction, out of memory) is an outage until another one is ready. " +
		"A Warning for a StatefulSet, which may not be built to run as several.",
	Doc: docDisruptions, check: checkSingleReplica,
}

func checkSingleReplica(s *subject) {
	if s.Replicas != 1 {
		return
	}
	f := Finding{Evidence: "spec.replicas is 1", Caution: "where a HorizontalPodAutoscaler scales it, raise its minReplicas instead"}
	if s.Kind == StatefulSet {
		f.Severity = Warning
		f.Caution = sentences("only if it is built to run as several: a second replica of most databases is a second, empty database", f.Caution)
	} else if s.Claims {
		f.Caution = sentences("a volume that one node holds cannot serve two replicas", f.Caution)
	}
	wanted := min(max(len(domains(s.homes(), zoneKey)), 2), 3) // one a zone, as far as three
	f.Fix = []Step{s.patch(s.target(), StrategicPatch, object{"spec": object{"replicas": wanted}})}
	s.find(f)
}
