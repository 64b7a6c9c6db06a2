package incidents

import (
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
)

// HalfOfTheRequestsFail is about two replicas, two entry nodes, and one of them full.
var HalfOfTheRequestsFail = scenario.DescribeIncident(scenario.Incident{
	Incident: history.Incident{
		Name: "half-of-the-requests-fail",
		Story: "Two replicas served behind a gateway outside the cluster, which sent requests to the node ports of two nodes " +
			"(externalTrafficPolicy: Local). One node filled up. The next rolling update put both new pods on the other. The gateway " +
			"kept sending every second request to a node without a pod.",
		Symptom: "Half of the requests fail, and both replicas are Running and Ready.",
		Cause: "A spread constraint that is only a preference, or that also counts the pods of the old revision, and a gateway that never " +
			"checks whether a node can serve.",
		Fix: "A hard spread constraint with matchLabelKeys: the update then gets stuck instead, and the old pod stays. Or a gateway that " +
			"checks its entry nodes. Each alone fails when a node dies: the first because nothing notices the dead node, the second because " +
			"both pods were on it. Both together hold. Required anti-affinity does the same as the hard spread only with maxSurge: the " +
			"update gets stuck, and the old pods stay. But then every update of as many pods as nodes gets stuck, full node or not, because " +
			"the old pods count too. With maxUnavailable instead, the update removes an old pod, and its replacement stays pending.",
	},
	Scenarios: []scenario.Spec{
		chaos.FullNodeNoRemedy, chaos.FullNodeByAllRevisions, chaos.FullNodeAntiAffinity,
		chaos.FullNodeSpreadAlone, chaos.FullNodeAntiAffinitySurge, chaos.FullNodeHealthChecksAlone, chaos.FullNode,
		chaos.FullNodeThenALostOneSoft, chaos.FullNodeThenALostOneUnchecked, chaos.FullNodeThenALostOne,
	},
})
