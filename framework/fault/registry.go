package fault

import (
	"time"

	"github.com/holdfast-ha/holdfast/workloads"
)

// Examples returns at least one example of every fault, each of which affects a workload of six pods on three workers. Tests of this
// package and of the runner play all of them. A test of the suites fails if a fault has no example.
func Examples() []Fault {
	return []Fault{
		Autoscale{CPU: 60, Max: 10},
		AutoscaleVertically{},
		BadRollout{Args: []string{"--broken=hang"}},
		BadRollout{Image: NoSuchImage},
		ComponentAway{Component: Kubelet, For: time.Second},
		ComponentAway{Component: Scheduler, For: time.Second},
		ComponentKill{Component: Kubelet},
		ConfigChange{Config: workloads.Config{Kind: "ConfigMap", Name: "backend", Folder: "volumes/kubernetes.io~configmap/conf"}},
		ConfigChange{Config: workloads.Config{Kind: "Secret", Name: "backend"}},
		ControlPlaneKill{},
		Drain{},
		Drain{Nodes: 2},
		EtcdLeaderKill{},
		Evict{},
		FillNode{},
		KillContainer{},
		Latency{Delay: 100 * time.Millisecond},
		NodeKill{},
		NodeKill{Worker: 2},
		NodePause{},
		NodePause{Worker: 2},
		NodePressure{},
		NodePressure{Disk: true},
		NodePressure{Worker: 2, Soft: true},
		NodeStop{},
		NodeStop{Worker: 2},
		PacketLoss{Percent: 10},
		Partition{},
		Partition{Worker: 2},
		Partition{Zone: true},
		PodDelete{Count: 2},
		Resize{CPU: "20m"},
		Rollout{},
		Scale{Through: []int{9, 3}},
		TryDrain{For: 20 * time.Second},
		TryRollout{},
		TryRollout{For: time.Second},
		Unbalance{},
		UpgradeControlPlane{To: "v1.37.0"},
		UpgradeWorkers{To: "v1.37.0"},
		ZoneOutage{},
	}
}
