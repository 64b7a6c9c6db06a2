package audit

import (
	"fmt"
	"slices"
)

var noReadinessProbe = Rule{
	ID: "no-readiness-probe", Severity: Warning,
	Title: "no readiness probe",
	Why: "A pod without a readiness probe counts as ready as soon as its process runs: Services send it requests before it listens and " +
		"while it hangs, and a rollout ends the old pods too soon. A Note if no Service sends it requests, except for metrics.",
	Doc: docProbes, needs: []Resource{Services}, check: checkNoReadinessProbe,
}

func checkNoReadinessProbe(s *subject) {
	serving, traffic := s.served()
	asked := slices.ContainsFunc(running(s.Template.Spec), func(c container) bool { return c.ReadinessProbe != nil })
	for _, c := range serving {
		if c.ReadinessProbe != nil {
			continue
		}
		f := Finding{Severity: c.severity(), Evidence: fmt.Sprintf("container %s, which Service %s sends requests to, has no readinessProbe", c.Name, c.service)}
		if !c.tcp {
			f.Caution = "decide which check shows that it can serve; a TCP check of a UDP port does not"
		} else {
			f.Caution = sentences("this only checks that the port accepts connections; an httpGet or grpc check of whether it can serve is better", s.rollout())
			f.Fix = s.patchContainer(c.container, object{"readinessProbe": object{
				"tcpSocket": object{"port": c.port}, "periodSeconds": 2, "failureThreshold": 2, "timeoutSeconds": 2,
			}})
		}
		s.find(f)
	}
	if len(serving) > 0 || asked {
		return
	}
	f := Finding{
		Evidence: "none of its containers has a readinessProbe",
		Caution:  "no patch can know how to check that it is ready: add an exec, httpGet or tcpSocket check of its own",
	}
	if !traffic {
		f.Severity = Note
	}
	s.find(f)
}
