package attribution

import "slices"

// Cause says in a word why a request failed. Mutants name the one that they plant, so that the two can be compared.
type Cause string

// The causes. Where one comes from another, such as an outage from a lost node, it is what an engineer would mend that
// tells them apart.
const (
	// CauseReadyTooEarly: nothing listened yet. A readiness probe is missing, or says yes too soon.
	CauseReadyTooEarly Cause = "ready-too-early"
	// CauseLateEndpoint: nothing listened any more. Nobody waits for the proxies when a pod is deleted; a preStop sleep does.
	CauseLateEndpoint Cause = "late-endpoint"
	// CauseLateWithdrawal: the same, though its endpoint had been gone for longer than a proxy takes on a usual machine: that is
	// starved, or stuck.
	CauseLateWithdrawal Cause = "late-withdrawal"
	// CauseCutAtSIGTERM: requests in flight are dropped instead of finished.
	CauseCutAtSIGTERM Cause = "cut-at-sigterm"
	// CauseCutAtEnd: clients are not asked off their long-lived connections in time.
	CauseCutAtEnd Cause = "cut-at-end"
	// CauseCutWhileEnding is one of the two before, in a record that does not say when SIGTERM came.
	CauseCutWhileEnding Cause = "cut-while-ending"
	// CauseRestart: a crash, a failed liveness probe, a resize that restarts.
	CauseRestart Cause = "restart"
	// CausePressure: what a kubelet evicts stays an endpoint until it has ended.
	CausePressure Cause = "pressure-eviction"
	// CauseNodeLost: until the loss is noticed, the proxies go on sending there.
	CauseNodeLost Cause = "node-lost"
	// CauseNodeLostConnection: a connection that was open before the loss.
	CauseNodeLostConnection Cause = "node-lost-connection"
	// CauseDeadUpstream: a gateway without health checks and retries, and an upstream on a lost node.
	CauseDeadUpstream Cause = "dead-upstream"
	// CauseEmptyUpstream: the same, and an entry node that is well, and has no pod (externalTrafficPolicy: Local).
	CauseEmptyUpstream Cause = "empty-upstream"
	// The outages: no endpoint was left that could have answered, and what had taken the last ones.
	CauseOutageEviction Cause = "outage-eviction"
	CauseOutageDeletion Cause = "outage-deletion"
	CauseOutageNodeLost Cause = "outage-node-lost"
	CauseOutagePressure Cause = "outage-pressure-eviction"
	// CauseBadAnswer: the server itself let its client down.
	CauseBadAnswer Cause = "bad-answer"
	// CauseCutWhileReady: so did it, without any reason that can be seen from outside.
	CauseCutWhileReady Cause = "cut-while-ready"
	// CauseSlow is not the system's fault for certain: the machine may have been busy.
	CauseSlow Cause = "slow"
	// CauseUnknown: nothing that was seen explains it.
	CauseUnknown Cause = "unknown"
)

// causes are all of them with their words, those before the others that are preferred where the evidence is equal.
var causes = []struct {
	cause Cause
	words string
}{
	{CauseReadyTooEarly, "sent to a pod that was offered to clients before it listened"},
	{CauseRestart, "sent to a pod whose container was being started again, and that was still offered to clients"},
	{CausePressure, "sent to a pod that its kubelet was evicting, and that was still offered to clients"},
	{CauseLateEndpoint, "sent to a pod that had stopped listening, because the proxies had not noticed yet"},
	{CauseLateWithdrawal, "sent to a pod that had stopped listening, because the proxies had not noticed for more than " + ProxyLag.String()},
	{CauseCutAtSIGTERM, "cut by a server that dropped what was in flight at SIGTERM"},
	{CauseCutAtEnd, "cut by a server that kept its connections to its very end"},
	{CauseCutWhileEnding, "cut by a server that ended with the connection open"},
	{CauseNodeLost, "sent to a pod on a lost node, whose endpoint was still there"},
	{CauseNodeLostConnection, "lost on a connection to a pod on a lost node"},
	{CauseDeadUpstream, "sent by the gateway to a lost node, though other pods were ready"},
	{CauseEmptyUpstream, "sent by the gateway to a node without a ready pod, though other pods were ready"},
	{CauseOutageEviction, "nobody could answer: evictions had taken the last endpoint"},
	{CauseOutagePressure, "nobody could answer: kubelets had evicted the last endpoint"},
	{CauseOutageNodeLost, "nobody could answer: the last endpoint was on a lost node"},
	{CauseOutageDeletion, "nobody could answer: the last endpoint had been deleted"},
	{CauseBadAnswer, "answered wrongly by a pod that was ready"},
	{CauseCutWhileReady, "cut, or refused, by a pod that was ready"},
	{CauseSlow, "not answered in time, and nothing was wrong with the pods"},
	{CauseUnknown, "nothing that was seen explains it"},
}

// Causes lists the closed vocabulary.
func Causes() []Cause {
	list := make([]Cause, len(causes))
	for i, c := range causes {
		list[i] = c.cause
	}
	return list
}

// Words say what a cause means, of a request: "sent to a pod that ...". Of a cause that is not among Causes, they are the
// cause itself: other promises have others, and so have newer versions.
func (c Cause) Words() string {
	for _, known := range causes {
		if known.cause == c {
			return known.words
		}
	}
	return string(c)
}

// OfSystem tells whether the cause lies in the system under test, and not, or perhaps not, in the harness and its machine.
func (c Cause) OfSystem() bool { return c != CauseSlow && c != CauseUnknown && c != "" }

// rank is the place of a cause in the vocabulary.
func (c Cause) rank() int {
	return slices.IndexFunc(causes, func(known struct {
		cause Cause
		words string
	}) bool {
		return known.cause == c
	})
}

// PodPhase is how far a pod was in its life when a request was sent to it.
type PodPhase string

// The phases of a pod's life, in their usual order.
const (
	PhaseStarting   PodPhase = "starting"           // offered to clients, and has not answered anybody yet
	PhaseReady      PodPhase = "ready"              // nothing is wrong with it
	PhaseRestarting PodPhase = "restarting"         // its container has ended, or is told to, and is started again
	PhaseEvicted    PodPhase = "being evicted"      // by its kubelet, without a deletion
	PhaseDeleting   PodPhase = "deletion requested" // and its endpoint is still ready
	PhaseRemoved    PodPhase = "endpoint removed"   // from the EndpointSlice: each proxy follows in its own time
	PhaseSIGTERM    PodPhase = "told to end"        // SIGTERM was sent, as far as can be reckoned
	PhaseGone       PodPhase = "gone"               // its containers have ended
	PhaseNodeLost   PodPhase = "on a lost node"
	PhaseUnknown    PodPhase = "" // of a pod that nobody knows
)

// Confidence says how it is known which pod a failed request was sent to.
type Confidence string

// The confidences, the best first.
const (
	ConfidenceSeen       Confidence = "seen" // the pod said so, or it has the address that was dialled
	ConfidenceConnection Confidence = "inferred from the connection"
	ConfidenceAll        Confidence = "every endpoint was in trouble"
	ConfidenceOnly       Confidence = "the only endpoint in trouble"
	ConfidenceOneOf      Confidence = "one of several in trouble"
	ConfidenceNone       Confidence = "unknown"
)

// Attribution says who a failed request was sent to, in which phase of its life that pod was, and why the request failed.
// Pod, Node, Zone and Revision are empty where they are not known; of several in trouble they are the likeliest.
type Attribution struct {
	Cause      Cause
	Confidence Confidence
	Phase      PodPhase

	Pod, Node, Zone, Revision string

	Among []PodOn // all whom it may have been sent to, as far as the cause tells
}

// PodOn is a pod, or the node that it is on; what is not known is empty.
type PodOn struct{ Pod, Node string }

// OfSystem tells whether the failure is attributed to the system under test: such a failure breaks a promise however
// noisy the harness was at the time. Of any other it is not known whose fault it was.
func (a Attribution) OfSystem() bool { return a.Cause.OfSystem() && a.Confidence != ConfidenceNone }

// Blames tells whether a failure whose target is not known is laid to somebody.
func (a Attribution) Blames() bool { return a.OfSystem() && len(a.Among) > 0 }
