package incidents

import (
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
)

// ThreeReplicasAndStillDown is about replicas that share a node.
var ThreeReplicasAndStillDown = scenario.DescribeIncident(scenario.Incident{
	Incident: history.Incident{
		Name: "three-replicas-and-still-down",
		Story: "A service ran three replicas, so that it would survive the loss of one. Nothing constrained where they run, and all " +
			"three ran on one node. That node died.",
		Symptom: "Every request fails from the moment the node dies until the replicas are started elsewhere.",
		Cause:   "Without a topology spread constraint nothing keeps replicas apart, however many there are.",
		Fix: "A topology spread constraint over zones. It does not move pods that already run, and does not hide the time in which " +
			"requests still go to the dead pod: for that, a gateway checks its upstreams and tries another.",
	},
	Scenarios: []scenario.Spec{chaos.ThreeReplicasOnOneNode, chaos.KillOneWorkerOfThreeReplicas},
})
