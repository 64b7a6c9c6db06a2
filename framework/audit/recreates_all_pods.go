package audit

import "fmt"

var recreatesAllPods = Rule{
	ID: "recreates-all-pods", Severity: Warning,
	Title: "each rollout is an outage",
	Why: "With the strategy Recreate, a rollout ends all pods before it starts the first new one. Until one is ready, each request of a Service fails. " +
		"A Note where its pods share a volume, or are those of a database, because two revisions may not be able to run at the same time.",
	Doc:   "https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#recreate-deployment",
	needs: []Resource{Services}, check: checkRecreatesAllPods,
}

func checkRecreatesAllPods(s *subject) {
	serving, _ := s.served()
	if s.Kind != Deployment || s.Update.Rolling {
		return
	}
	for _, c := range serving {
		if c.metrics {
			continue
		}
		f := Finding{Evidence: fmt.Sprintf("its strategy is Recreate, and Service %s sends requests to its pods", c.service)}
		if s.Claims || s.stateful() {
			f.Severity, f.Caution = Note, "no patch can know whether two revisions can run at the same time with the same data"
		} else {
			f.Fix = []Step{s.patch(s.target(), StrategicPatch, object{"spec": object{"strategy": object{"type": "RollingUpdate"}}})}
			f.Caution = sentences("only if two revisions can run at the same time", s.rollout())
		}
		s.find(f)
		return
	}
}
