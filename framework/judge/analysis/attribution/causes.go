package attribution

import "slices"

// Cause is why a request failed, in a word. A mutant names the cause that it plants, so that the two can be compared.
type Cause string

// The causes. Causes that follow from others, such as an outage from a lost node, are separate if an engineer would fix
// something else.
const (
	// CauseReadyTooEarly: no process listened yet. A readiness probe is missing, or succeeds too early.
	CauseReadyTooEarly Cause = "ready-too-early"
	// CauseLateEndpoint: no process listened any more. Kubernetes does not wait for the proxies when a pod is deleted; a preStop sleep does.
	CauseLateEndpoint Cause = "late-endpoint"
	// CauseLateWithdrawal: as CauseLateEndpoint, but the endpoint had been withdrawn for longer than a proxy takes on a usual
	// machine: the proxy is starved, or stuck.
	CauseLateWithdrawal Cause = "late-withdrawal"
	// CauseFrontEndedFirst: as CauseLateEndpoint, for a container in front of an application that ends later: the hook is in the wrong one.
	CauseFrontEndedFirst Cause = "front-ended-first"
	// CauseOfferedUnready: its Service has publishNotReadyAddresses.
	CauseOfferedUnready Cause = "offered-unready"
	// CauseForeignPod: the Service selects pods that are not of its workload, such as a Job's with the same labels.
	CauseForeignPod Cause = "foreign-pod"
	// CauseCutAtSIGTERM: requests in flight are dropped instead of finished.
	CauseCutAtSIGTERM Cause = "cut-at-sigterm"
	// CauseCutAtEnd: the server does not ask clients in time to leave long-lived connections.
	CauseCutAtEnd Cause = "cut-at-end"
	// CauseKilled: the server had not finished when its grace period was over.
	CauseKilled Cause = "killed"
	// CauseCutWhileEnding is one of the two causes above, in a record that does not contain when SIGTERM was sent.
	CauseCutWhileEnding Cause = "cut-while-ending"
	// CauseRestart: a crash, a failed liveness probe, a resize that restarts.
	CauseRestart Cause = "restart"
	// CausePressure: a pod that its kubelet evicts stays an endpoint until it has ended.
	CausePressure Cause = "pressure-eviction"
	// CauseNodeLost: until the loss is noticed, proxies keep sending requests there.
	CauseNodeLost Cause = "node-lost"
	// CauseNodeLostConnection: the connection was open before the loss.
	CauseNodeLostConnection Cause = "node-lost-connection"
	// CauseDeadUpstream: a gateway without health checks and retries, and an upstream on a lost node.
	CauseDeadUpstream Cause = "dead-upstream"
	// CauseEmptyUpstream: as CauseDeadUpstream, for a healthy entry node without a pod (externalTrafficPolicy: Local).
	CauseEmptyUpstream Cause = "empty-upstream"
	// The outages: no endpoint was left that could answer, by what ended the last ones.
	CauseOutageEviction Cause = "outage-eviction"
	CauseOutageDeletion Cause = "outage-deletion"
	CauseOutageNodeLost Cause = "outage-node-lost"
	CauseOutagePressure Cause = "outage-pressure-eviction"
	// CauseOutageUnready: the pods run, and each says by its readiness probe that it cannot serve. What all of them ask is away.
	CauseOutageUnready Cause = "outage-unready"
	// CauseOutageUnended: nothing that was recorded explains why, and no request was answered any more until the load ended.
	CauseOutageUnended Cause = "outage-unended"
	// CauseProxyUpdate: a single request met kube-proxy's change of the Service's rules. See proxyupdate.go.
	CauseProxyUpdate Cause = "proxy-update"
	// CauseBadAnswer: the server answered wrongly.
	CauseBadAnswer Cause = "bad-answer"
	// CauseBadAnswerEnding: as CauseBadAnswer, from a pod whose deletion had been accepted.
	CauseBadAnswerEnding Cause = "bad-answer-while-ending"
	// CauseAppEndedFirst: as CauseBadAnswerEnding, from a container in front of an application that was told to end before it.
	CauseAppEndedFirst Cause = "app-ended-first"
	// CauseCutWhileReady: the server cut or refused the connection for no reason that can be seen from outside.
	CauseCutWhileReady Cause = "cut-while-ready"
	// CauseSlow is not certainly the system's fault: the machine may have been busy.
	CauseSlow Cause = "slow"
	// CauseUnknown: nothing that was recorded explains it.
	CauseUnknown Cause = "unknown"
)

// causes are all causes with their words. Of causes with equal evidence, the first one is preferred.
var causes = []struct {
	cause Cause
	words string
}{
	{CauseReadyTooEarly, "sent to a pod that was offered to clients before it listened"},
	{CauseRestart, "sent to a pod whose container was being started again, and that was still offered to clients"},
	{CausePressure, "sent to a pod that its kubelet was evicting, and that was still offered to clients"},
	{CauseLateEndpoint, "sent to a pod that had stopped listening, because the proxies had not noticed yet"},
	{CauseLateWithdrawal, "sent to a pod that had stopped listening, because the proxies had not noticed for more than " + ProxyLag.String()},
	{CauseFrontEndedFirst, "sent to a pod whose container in front had been told to end before the application behind it"},
	{CauseOfferedUnready, "sent to a pod that was not ready, because its Service offers such pods (publishNotReadyAddresses)"},
	{CauseForeignPod, "sent to a pod of another owner, which has the labels that the Service selects"},
	{CauseCutAtSIGTERM, "cut by a server that dropped what was in flight at SIGTERM"},
	{CauseCutAtEnd, "cut by a server that kept its connections to its very end"},
	{CauseKilled, "cut by a server that was killed at the end of its grace period"},
	{CauseCutWhileEnding, "cut by a server that ended with the connection open"},
	{CauseNodeLost, "sent to a pod on a lost node, whose endpoint was still there"},
	{CauseNodeLostConnection, "lost on a connection to a pod on a lost node"},
	{CauseDeadUpstream, "sent by the gateway to a lost node, though other pods were ready"},
	{CauseEmptyUpstream, "sent by the gateway to a node without a ready pod, though other pods were ready"},
	{CauseOutageEviction, "no endpoint was left: evictions had removed the last one"},
	{CauseOutagePressure, "no endpoint was left: kubelets had evicted the last one"},
	{CauseOutageNodeLost, "no endpoint was left: the last one was on a lost node"},
	{CauseOutageDeletion, "no endpoint was left: the last one had been deleted"},
	{CauseOutageUnready, "no endpoint was left: all pods had withdrawn themselves by their readiness probes"},
	{CauseOutageUnended, "no request was answered well any more, to the end of the record"},
	{CauseProxyUpdate, "rejected while kube-proxy changed the Service's nftables rules"},
	{CauseBadAnswer, "answered wrongly by a pod that was ready"},
	{CauseBadAnswerEnding, "answered wrongly by a pod that had been told to end"},
	{CauseAppEndedFirst, "answered wrongly by a container in front, because the application behind it had been told to end first"},
	{CauseCutWhileReady, "cut, or refused, by a pod that was ready"},
	{CauseSlow, "not answered in time, and nothing was wrong with the pods"},
	{CauseUnknown, "nothing that was seen explains it"},
}

// Causes lists all causes.
func Causes() []Cause {
	list := make([]Cause, len(causes))
	for i, c := range causes {
		list[i] = c.cause
	}
	return list
}

// Words are what a cause means, of a request: "sent to a pod that ...". For a cause that is not among Causes, they are the cause
// itself: other promises and newer versions have other causes.
func (c Cause) Words() string {
	for _, known := range causes {
		if known.cause == c {
			return known.words
		}
	}
	return string(c)
}

// OfSystem reports whether the cause certainly lies in the system under test, and not in the harness and its machine.
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

// PodPhase is the phase of a pod's life when a request was sent to it.
type PodPhase string

// The phases of a pod's life, in their usual order.
const (
	PhaseStarting   PodPhase = "starting"           // an endpoint, and has not answered any request yet
	PhaseReady      PodPhase = "ready"              // nothing is wrong with it
	PhaseUnready    PodPhase = "unready"            // it was ready before, and still runs
	PhaseRestarting PodPhase = "restarting"         // its container has ended, or is being killed, and is restarted
	PhaseEvicted    PodPhase = "being evicted"      // by its kubelet, without a deletion
	PhaseDeleting   PodPhase = "deletion requested" // and its endpoint is still ready
	PhaseRemoved    PodPhase = "endpoint removed"   // from the EndpointSlice: each proxy follows in its own time
	PhaseSIGTERM    PodPhase = "told to end"        // SIGTERM was sent, according to the pod's lifecycle
	PhaseGone       PodPhase = "gone"               // its containers have ended
	PhaseNodeLost   PodPhase = "on a lost node"
	PhaseUnknown    PodPhase = "" // of an unknown pod
)

// Confidence is how it is known to which pod a failed request was sent.
type Confidence string

// The confidences, the best first.
const (
	ConfidenceSeen       Confidence = "seen" // the answer named the pod, or its address was dialled
	ConfidenceConnection Confidence = "inferred from the connection"
	ConfidenceAll        Confidence = "every endpoint was in trouble"
	ConfidenceOnly       Confidence = "the only endpoint in trouble"
	ConfidenceOneOf      Confidence = "one of several in trouble"
	ConfidenceRest       Confidence = "nothing else explains it"
	ConfidenceNone       Confidence = "unknown"
)

// Attribution is to which pod a failed request was sent, in which phase that pod was, and why the request failed. Pod, Node, Zone
// and Revision are empty if they are unknown.
type Attribution struct {
	Cause      Cause
	Confidence Confidence
	Phase      PodPhase

	Pod, Node, Zone, Revision string

	// Story says what led to a cause that several pods share; empty: that of the pod does.
	Story string

	Among []PodOn // all pods to which it may have been sent, according to the cause
}

// PodOn is a pod and its node; empty: unknown.
type PodOn struct{ Pod, Node string }

// OfSystem reports whether the failure is attributed to the system under test. The origin of any other failure is unknown.
func (a Attribution) OfSystem() bool { return a.Cause.OfSystem() && a.Confidence != ConfidenceNone }

// Blames reports whether a failure with an unknown target is attributed to certain pods or nodes.
func (a Attribution) Blames() bool { return a.OfSystem() && len(a.Among) > 0 }
