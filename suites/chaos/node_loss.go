package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// FreezeOneWorker is FreezeOneWorkerBehindAGateway without the gateway: a client that was sent to one of the node's pods waits
// in vain until Kubernetes has noticed.
var FreezeOneWorker = scenario.Describe(scenario.Spec{
	Name:     "chaos/freeze-one-worker",
	Claim:    "after a worker hangs only its share of the requests fails, and only for the predicted time, as if it had died",
	Cluster:  threeNodes,
	Load:     scenario.DefaultLoad,
	Faults:   []fault.Fault{fault.NodePause{}},
	Hold:     18 * time.Second, // longer than the predicted 13 s: the failures must end before the undo
	Promises: []invariant.Invariant{invariant.FailuresEndWithin{}},
	About:    70 * time.Second,
	Full:     true,
})

// FreezeOneWorkerBehindAGateway is a machine that hangs. Its kernel accepts every connection and no process answers, so the
// client gets no error and only its own time-out detects the fault. The return is the harder half: the pods now answer old
// requests whose clients are gone, and the kubelet learns which of its pods were deleted in the meantime.
var FreezeOneWorkerBehindAGateway = scenario.Describe(scenario.Spec{
	Name: "chaos/freeze-one-worker-behind-a-gateway",
	Claim: "a worker that hangs and later resumes is invisible to clients behind a gateway with health checks, time-outs and " +
		"retries; its pods are replaced on other nodes within 28 s, while it hangs",
	Cluster: threeNodes,
	Gateway: &workloads.Gateway{},
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.NodePause{}},
	Hold:    30 * time.Second, // longer than the lab profile needs to notice the loss and to replace the pods
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.ReplacedWithin{Workload: "backend", Limit: 28 * time.Second},
		invariant.RecoversWithin{Workload: "backend", Limit: time.Minute}, // the kubelet ends the deleted pods gracefully
	},
	About: 90 * time.Second,
	Full:  true,
})

// FrozenWorkerWithoutHealthChecks waits for each request that it sends to the hanging node, and never retries on another.
var FrozenWorkerWithoutHealthChecks = scenario.Mutate(FreezeOneWorkerBehindAGateway, scenario.Mutation{
	Name:     "mutants/frozen-worker-without-health-checks",
	Removed:  "a gateway that checks its upstreams and tries another",
	CaughtBy: invariant.NoFailedRequests{},
	Cause:    attribution.CauseDeadUpstream,
	Break: func(s *scenario.Spec) {
		s.Gateway.Health, s.Gateway.Ejection, s.Gateway.MaxTries = workloads.NoHealth, workloads.NoEjection, 1
		s.Hold = 15 * time.Second // long enough for the loss to be noticed; requests fail from the first second on
	},
})

// KillEtcdLeader makes the other members elect a new leader, and gives them work at once.
var KillEtcdLeader = scenario.Describe(scenario.Spec{
	Name: "chaos/kill-etcd-leader",
	Claim: "when etcd's leader dies, another member takes over, a rolling update right afterwards is invisible to clients, and the API " +
		"answers again within 10 s",
	Cluster: ThreeControlPlanes,
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.EtcdLeaderKill{}, fault.Rollout{}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.APIAnswersWithin{Limit: 10 * time.Second}, // as in KillOneControlPlane
	},
	About: 100 * time.Second,
	Full:  true,
})

// KillOneContainer kills the process of one pod, as a crash or a lack of memory does.
var KillOneContainer = scenario.Describe(scenario.Spec{
	Name: "chaos/kill-one-container",
	Claim: "after the process of one of six pods is killed, only that pod's share of the requests fails, and none later than 5 s after its kubelet has seen it; " +
		"the pod is ready again within 15 s",
	Load:   scenario.DefaultLoad,
	Faults: []fault.Fault{fault.KillContainer{}},
	Hold:   10 * time.Second, // nothing is reverted, but what ends the failures must be seen to last
	Promises: []invariant.Invariant{
		invariant.FailuresEndWithin{Limit: 5 * time.Second}, // a kubelet looks each second, and proxies take less than another one
		invariant.RecoversWithin{Workload: "backend", Limit: 15 * time.Second, FromFault: true},
	},
	Full: true,
})

// KillContainerSlowStart has the killed container started again, but it takes too long to become ready.
var KillContainerSlowStart = scenario.Mutate(KillOneContainer, scenario.Mutation{
	Name:     "mutants/kill-container-slow-start",
	Removed:  "a start that is faster than the promised recovery from a crash",
	CaughtBy: invariant.RecoversWithin{},
	Reason:   judge.StartsLate,
	// The limit is 15 s from the kill, and the container is not ready before 28 s.
	Break: func(s *scenario.Spec) { s.Backend.StartDelay, s.About = 28*time.Second, 2*time.Minute },
})

// ThreeControlPlanes has few workers, because the control planes need CPU time, too.
var ThreeControlPlanes = clusters.Spec{ControlPlanes: 3, Zones: []string{"a", "b"}, WorkersPerZone: 1}

// KillOneControlPlane kills the control plane node whose etcd member is the leader.
var KillOneControlPlane = scenario.Describe(scenario.Spec{
	Name: "chaos/kill-one-control-plane",
	Claim: "killing one control plane of three, whose kernel closes its connections, is invisible to clients, and the remaining API " +
		"servers answer again within 10 s",
	Cluster: ThreeControlPlanes,
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.ControlPlaneKill{}},
	Hold:    40 * time.Second, // another controller manager takes over after 17 s, and only then can it notice the loss
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.APIAnswersWithin{Limit: 10 * time.Second}, // etcd's election takes one to two seconds, longer on a busy machine
	},
	About: 2 * time.Minute,
	Full:  true,
})

// TwoControlPlanes are no better than one: a majority of two etcd members is both, so the remaining member can neither read nor
// write. Clients of the workload do not notice that, either.
//
// Source: https://etcd.io/docs/latest/faq/#what-is-failure-tolerance
var TwoControlPlanes = scenario.Mutate(KillOneControlPlane, scenario.Mutation{
	Name:     "mutants/two-control-planes",
	Removed:  "a third control plane",
	CaughtBy: invariant.APIAnswersWithin{},
	Reason:   judge.NoQuorum,
	Break:    func(s *scenario.Spec) { s.Cluster.ControlPlanes, s.Hold = 2, 15*time.Second },
})

// KillOneWorker is KillOneWorkerBehindAGateway without the gateway: requests fail, but only the victim's share of them, and
// only until Kubernetes has noticed.
var KillOneWorker = scenario.Describe(scenario.Spec{
	Name: "chaos/kill-one-worker",
	Claim: "after a worker is killed and its kernel closes its connections, only its share of the requests fails, only for the " +
		"predicted time, and no more than one request in ten",
	Load:   scenario.DefaultLoad,
	Faults: []fault.Fault{fault.NodeKill{}},
	Hold:   18 * time.Second, // longer than the predicted 13 s: the failures must end before the undo
	Promises: []invariant.Invariant{
		invariant.FailuresEndWithin{},
		invariant.FewFailedRequests{Share: 0.1}, // one of six endpoints for at most 13 s of 35 s is 6.2 % on new connections, and less on kept ones
	},
	About: 50 * time.Second,
	Stock: true,
})

// AllOnOneKilledNode loses every replica with one node: all requests fail until it is back, and not one in ten.
var AllOnOneKilledNode = scenario.Mutate(KillOneWorker, scenario.Mutation{
	Name:     "mutants/all-on-one-killed-node",
	Removed:  "topology spread constraints",
	CaughtBy: invariant.FewFailedRequests{},
	Cause:    attribution.CauseOutageNodeLost,
	Break: func(s *scenario.Spec) {
		s.Backend.Spread = workloads.NoSpread
		s.Backend.Affinity = []workloads.Affinity{{Key: workloads.Host}} // to its own pods: the second replica follows the first
	},
})

// FixedUpstreams sends requests to the node ports of all workers, dead or alive: the failures do not end when Kubernetes has
// noticed the loss.
var FixedUpstreams = scenario.Mutate(KillOneWorker, scenario.Mutation{
	Name:     "mutants/fixed-upstreams",
	Removed:  "a route that follows the EndpointSlices",
	CaughtBy: invariant.FailuresEndWithin{},
	Cause:    attribution.CauseDeadUpstream,
	Break: func(s *scenario.Spec) {
		s.Backend.NodePort, s.NodePorts = 30080, 6 // all workers, and so the one that dies
		s.Gateway = &workloads.Gateway{Health: workloads.NoHealth, Ejection: workloads.NoEjection, MaxTries: 1}
		s.Hold = 15 * time.Second // two more than the predicted 13 s; every sixth request still fails in them
	},
})

// KillOneWorkerBehindAGateway is an involuntary disruption that clients do not notice, because a gateway checks the health of
// its upstreams, ejects failing ones, and retries on another.
var KillOneWorkerBehindAGateway = scenario.Describe(scenario.Spec{
	Name:    "chaos/kill-one-worker-behind-a-gateway",
	Claim:   "killing a worker whose kernel closes its connections is invisible to clients behind a gateway with health checks and retries",
	Gateway: &workloads.Gateway{},
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.NodeKill{}},
	Hold:    20 * time.Second, // longer than the lab profile needs to notice the loss and to replace the pods
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.RecoversWithin{Workload: "backend", Limit: time.Minute}, // the node was Ready 4 s after its start; a busy machine takes longer
	},
	About: 50 * time.Second,
	Stock: true,
})

// KillOneWorkerBehindNodePorts is the common set-up of a load balancer outside the cluster that knows node addresses.
var KillOneWorkerBehindNodePorts = scenario.Describe(scenario.Spec{
	Name: "chaos/kill-one-worker-behind-node-ports",
	Claim: "killing one of two entry nodes, whose kernel closes its connections, is invisible to clients behind a gateway that checks " +
		"them",
	Backend:   workloads.Backend{NodePort: 30080, NodePortLocal: true}, // otherwise the surviving entry node forwards to pods on the dead one
	Gateway:   &workloads.Gateway{},
	NodePorts: 2,
	Load:      scenario.DefaultLoad,
	Faults:    []fault.Fault{fault.NodeKill{Worker: 2}},
	Hold:      15 * time.Second, // longer than the lab profile needs to notice the loss
	Promises:  []invariant.Invariant{invariant.NoFailedRequests{}, invariant.AnswersWithin{}},
	About:     50 * time.Second,
})

// NodePortsWithoutHealthChecks has every pod on one node, and still loses about half of the requests when the other node dies:
// its gateway keeps sending every second request there.
var NodePortsWithoutHealthChecks = scenario.Mutate(KillOneWorkerBehindNodePorts, scenario.Mutation{
	Name:     "mutants/node-ports-without-health-checks",
	Removed:  "three practices: spreading, and a gateway that checks its fixed upstreams and tries another",
	CaughtBy: invariant.NoFailedRequests{},
	Cause:    attribution.CauseDeadUpstream,
	Break: func(s *scenario.Spec) {
		s.PinTo, s.Backend.NodePortLocal = 1, false
		s.Gateway.Health, s.Gateway.Ejection, s.Gateway.MaxTries = workloads.NoHealth, workloads.NoEjection, 1
		s.Hold = 10 * time.Second // long enough for the loss to be noticed; requests fail from the first second on
	},
})

// KillOneWorkerOfThreeReplicas is a common set-up: one replica in each zone.
var KillOneWorkerOfThreeReplicas = scenario.Describe(scenario.Spec{
	Name: "chaos/kill-one-worker-of-three-replicas",
	Claim: "with three replicas in three zones behind a gateway with health checks, clients do not notice when the node of " +
		"one replica is killed and its kernel closes its connections",
	Backend:  workloads.Backend{Replicas: 3},
	Gateway:  &workloads.Gateway{},
	Load:     scenario.DefaultLoad,
	Faults:   []fault.Fault{fault.NodeKill{}},
	Hold:     20 * time.Second, // longer than the lab profile needs to notice the loss and to replace the pod
	Promises: []invariant.Invariant{invariant.NoFailedRequests{}, invariant.AnswersWithin{}},
	About:    50 * time.Second,
	Full:     true,
})

// ThreeReplicasOnOneNode loses all three replicas with the one node they are on.
var ThreeReplicasOnOneNode = scenario.Mutate(KillOneWorkerOfThreeReplicas, scenario.Mutation{
	Name:     "mutants/three-replicas-on-one-node",
	Removed:  "topology spread constraints",
	CaughtBy: invariant.NoFailedRequests{},
	Cause:    attribution.CauseOutageNodeLost,
	Break: func(s *scenario.Spec) {
		s.Backend.Spread = workloads.NoSpread
		s.Backend.Affinity = []workloads.Affinity{{Key: workloads.Host}} // to its own pods: the second replica follows the first
	},
})

// PartitionOneWorker is PartitionOneWorkerBehindAGateway without the gateway. Nothing resets the connections, as the kernel of
// a killed node does: each request fails by the client's own time-out.
var PartitionOneWorker = scenario.Describe(scenario.Spec{
	Name: "chaos/partition-one-worker",
	Claim: "after a worker is cut off from the network, only its share of the requests fails, and only for the predicted time, as if " +
		"it had died",
	Cluster:  threeNodes,
	Load:     scenario.DefaultLoad,
	Faults:   []fault.Fault{fault.Partition{}},
	Hold:     18 * time.Second, // longer than the predicted 13 s: the failures must end before the undo
	Promises: []invariant.Invariant{invariant.FailuresEndWithin{}},
	About:    70 * time.Second,
	Full:     true,
})

// PartitionOneWorkerBehindAGateway cuts off a node whose pods keep running. Kubernetes deletes its pods and creates others.
// When the network is back, both run for a while, until the kubelet learns which pods were deleted. Clients must notice
// neither.
//
// Source: https://kubernetes.io/docs/concepts/architecture/nodes/#node-controller
var PartitionOneWorkerBehindAGateway = scenario.Describe(scenario.Spec{
	Name: "chaos/partition-one-worker-behind-a-gateway",
	Claim: "a worker that is cut off from the network, and comes back with its pods still running, is invisible to clients behind a " +
		"gateway with health checks and retries; its pods are replaced on other nodes within 28 s, while it is cut off",
	Cluster: threeNodes,
	Gateway: &workloads.Gateway{},
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.Partition{}},
	Hold:    30 * time.Second, // longer than the lab profile needs to notice the loss and to replace the pods
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.ReplacedWithin{Workload: "backend", Limit: 28 * time.Second},
		invariant.RecoversWithin{Workload: "backend", Limit: time.Minute}, // the kubelet ends the deleted pods gracefully
	},
	About: 90 * time.Second,
	Full:  true,
})

// PartitionWithoutHealthChecks trusts Kubernetes' endpoints, which follow a partition only after a while.
var PartitionWithoutHealthChecks = scenario.Mutate(PartitionOneWorkerBehindAGateway, scenario.Mutation{
	Name:     "mutants/partition-without-health-checks",
	Removed:  "a gateway that checks its upstreams and tries another",
	CaughtBy: invariant.NoFailedRequests{},
	Cause:    attribution.CauseDeadUpstream,
	Break: func(s *scenario.Spec) {
		s.Gateway.Health, s.Gateway.Ejection, s.Gateway.MaxTries = workloads.NoHealth, workloads.NoEjection, 1
		s.Hold = 15 * time.Second // long enough for the loss to be noticed; requests fail from the first second on
	},
})

// PartitionOneZoneBehindAGateway cuts a whole zone off from all others, while its nodes still reach each other. That is how a
// failing uplink usually looks.
var PartitionOneZoneBehindAGateway = scenario.Describe(scenario.Spec{
	Name: "chaos/partition-one-zone-behind-a-gateway",
	Claim: "a zone that is cut off from the network, and comes back with its pods still running, is invisible to clients behind a " +
		"gateway outside the zone",
	Gateway: &workloads.Gateway{},
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.Partition{Zone: true}},
	Hold:    30 * time.Second, // longer than the lab profile needs to notice the loss of both nodes
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.RecoversWithin{Workload: "backend", Limit: 90 * time.Second}, // two nodes have to end the pods that were deleted meanwhile
	},
	About: 100 * time.Second,
	Full:  true,
	Stock: true,
})

// ShutDownOneWorker is an orderly shutdown of a node that was not drained: its pods get SIGTERM from the node's init and not
// from their kubelet, no preStop hook runs, and they stay ready endpoints until the node counts as lost.
//
// Source: https://kubernetes.io/docs/concepts/cluster-administration/node-shutdown/
var ShutDownOneWorker = scenario.Describe(scenario.Spec{
	Name: "chaos/shut-down-one-worker",
	Claim: "to clients, an orderly shutdown of a worker that was not drained is a lost node: its share of the requests fails, but " +
		"only for the predicted time",
	Cluster:  threeNodes,
	Load:     scenario.DefaultLoad,
	Faults:   []fault.Fault{fault.NodeStop{}},
	Hold:     18 * time.Second, // longer than the predicted 13 s: the failures must end before the undo
	Promises: []invariant.Invariant{invariant.FailuresEndWithin{}},
	About:    80 * time.Second,
	Full:     true,
})

// ShutDownOneWorkerBehindAGateway is the same shutdown behind a gateway that retries on another pod when one does not answer.
var ShutDownOneWorkerBehindAGateway = scenario.Describe(scenario.Spec{
	Name:    "chaos/shut-down-one-worker-behind-a-gateway",
	Claim:   "an orderly shutdown of a worker that was not drained is invisible to clients behind a gateway with health checks and retries",
	Cluster: threeNodes,
	Gateway: &workloads.Gateway{},
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.NodeStop{}},
	Hold:    20 * time.Second, // longer than the lab profile needs to notice the loss and to replace the pods
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.RecoversWithin{Workload: "backend", Limit: time.Minute},
	},
	About: 80 * time.Second,
	Full:  true,
})
