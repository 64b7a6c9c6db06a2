package audit

import "fmt"

var noRoomToSurge = Rule{
	ID: "no-room-to-surge", Severity: Error,
	Title: "a rollout needs one more node with a free host port",
	Why: "A port of the node can be had by one pod on each node. A rollout that must start a new pod before it ends an old one needs one " +
		"more node, and hangs without it. Ports that other workloads take are not looked at.",
	Doc: "https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#max-unavailable", needs: []Resource{Nodes}, check: checkNoRoomToSurge,
}

func checkNoRoomToSurge(s *subject) {
	port := s.hostPort()
	room := len(s.homes().nodes)
	if port == 0 || !s.surges() || s.Replicas > room || s.Replicas+1 <= room {
		return
	}
	ops, _ := s.letGo(0)
	s.find(Finding{
		Evidence: fmt.Sprintf("a rollout starts a new pod while all %d old ones are there, and port %d of each of %d nodes is taken", s.Replicas, port, room),
		Fix:      s.patchOps(ops), Caution: "during a rollout it then runs one pod fewer than wanted",
	})
}

// hostPort is a port of the node that a container has; 0: none has one.
func (s *subject) hostPort() int32 {
	for _, c := range running(s.Template.Spec) {
		for _, p := range c.Ports {
			if p.HostPort != 0 {
				return p.HostPort
			}
		}
	}
	return 0
}
