package audit

import "fmt"

var noPreStop = Rule{
	ID: "no-prestop", Severity: Warning,
	Title: "no preStop hook",
	Why: "A pod that ends is told so at the same moment as the proxies that still send it requests. Without some seconds " +
		"between the two, each rollout, drain and scale-down refuses some. A server that itself goes on serving for some " +
		"seconds after SIGTERM needs none; that cannot be seen from here.",
	Doc: docEndpointFlow, needs: []Resource{Services}, check: checkNoPreStop,
}

// preStopSeconds is time for kube-proxy, ingresses and clients to look elsewhere. One second was measured to lose
// requests on an idle cluster of eight nodes, and three to lose none; larger and busier ones take longer.
const preStopSeconds = 5

// finishSeconds is what a server is given after preStop to finish what it serves: Kubernetes' default grace period.
const finishSeconds = 30

func checkNoPreStop(s *subject) {
	serving, _ := s.served()
	for _, c := range serving {
		if c.Lifecycle != nil && c.Lifecycle.PreStop != nil {
			continue
		}
		sleep := object{"name": c.Name, "lifecycle": object{"preStop": object{"sleep": object{"seconds": preStopSeconds}}}}
		pod := object{c.list: []object{sleep}}
		if s.grace() <= preStopSeconds {
			pod["terminationGracePeriodSeconds"] = preStopSeconds + finishSeconds
		}
		s.find(Finding{
			Evidence: fmt.Sprintf("container %s, which Service %s sends requests to, gets SIGTERM while they still come", c.Name, c.service),
			Fix:      s.patchPod(pod),
			Caution:  sentences("the sleep action needs Kubernetes 1.30; before, exec a sleep", s.rollout()),
		})
	}
}

// grace is how many seconds a pod has to end.
func (s *subject) grace() int64 {
	if s.Template.Spec.TerminationGracePeriodSeconds == nil {
		return defaultGrace
	}
	return *s.Template.Spec.TerminationGracePeriodSeconds
}

// defaultGrace is the API's default.
const defaultGrace = 30
