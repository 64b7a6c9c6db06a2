// Package audit finds single points of failure in the Deployments and StatefulSets of a running cluster: what a lost node, zone
// or pod, a drain or a rollout would cost each of them, with the evidence and the exact commands that fix it.
//
// Read is the only part that talks to a cluster; it gets and lists, and never writes. Audit is a pure function of what was
// read. Whatever could not be read or decided is reported as not checked, never as good.
//
// The audit is no benchmark of security or cost, and ignores DaemonSets, Jobs and bare pods. It proves nothing about behaviour
// under load; scenarios do that.
package audit

import (
	"slices"

	policyv1 "k8s.io/api/policy/v1"
)

// Severity is how serious a finding is. The words are SARIF's.
type Severity string

// The severities.
const (
	// Error: the workload is broken already, or losing one node, zone or pod takes it down, or a drain can never complete.
	Error Severity = "error"
	// Warning: routine operations lose requests, or the next disturbance turns the finding into an Error.
	Warning Severity = "warning"
	// Note: worth knowing, but no change to the workload is needed.
	Note Severity = "note"
)

// AtLeast reports whether s is as severe as other, or more severe.
func (s Severity) AtLeast(other Severity) bool { return s.rank() <= other.rank() }

func (s Severity) rank() int { return slices.Index([]Severity{Error, Warning, Note}, s) }

// Rule finds one kind of single point of failure.
type Rule struct {
	ID       string
	Severity Severity // the default of its findings
	Title    string   // what is wrong
	Why      string   // what it costs, and what the rule does not check
	Doc      string   // the page of Kubernetes' documentation
	needs    []Resource
	check    func(*subject)
	// checkBudget, in place of check, is about a budget: the subject has its kind and its name.
	checkBudget func(*subject, *policyv1.PodDisruptionBudget)
}

// Rules lists all rules, the most severe first. A new rule is an entry here, a short function over a subject, and rows in the tables of tests.
var Rules = []Rule{
	{
		ID: "one-node", Severity: Error, needs: []Resource{Pods}, check: checkOneNode,
		Title: "all replicas are on one node", Doc: docSpread,
		Why: "A lost node takes every replica with it, and Kubernetes starts replacements only when it has noticed the loss: with its defaults after more than five " +
			"minutes. Replicas are spread strictly only if a constraint requires it.",
	},
	{
		ID: "one-zone", Severity: Error, needs: []Resource{Pods, Nodes}, check: checkOneZone,
		Title: "all replicas are in one zone", Doc: "https://kubernetes.io/docs/setup/best-practices/multiple-zones/",
		Why: "A lost zone takes every replica with it, however many nodes they are on. A Note if the cluster has no other zone for them. If all are on one node, the " +
			"rule one-node reports it instead.",
	},
	{
		ID: "single-replica", Severity: Error, check: checkSingleReplica,
		Title: "there is a single replica", Doc: "https://kubernetes.io/docs/concepts/workloads/pods/disruptions/",
		Why: "Whatever ends its pod (a lost node, a drain, an eviction, lack of memory) is an outage until another pod is ready. A Warning for a StatefulSet, which " +
			"may not be built to run several replicas. A Note for a controller with leader election to which no Service sends requests, except for metrics: a " +
			"second one would wait, and what is missed is done later.",
	},
	{
		ID: PendingRule, Severity: Error, needs: []Resource{Pods, Nodes}, check: checkPending,
		Title: "pods have long been Pending because of a hard constraint", Doc: docSpread,
		Why: "A hard constraint is kept by leaving pods Pending. If that lasts longer than five minutes it is not just a rollout: the workload has too few pods, and " +
			"clients feel the next loss. Pods that only lack CPU or memory are not reported.",
	},
	{
		ID: "unmeetable-anti-affinity", Severity: Error, needs: []Resource{Nodes}, check: checkUnmeetableAntiAffinity,
		Title: "required anti-affinity cannot be met", Doc: "https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#inter-pod-affinity-and-anti-affinity",
		Why: "Pods that must not share a domain need one domain each. Any further pod stays Pending for ever. A rollout that must start a new pod before it ends an " +
			"old one needs one more domain, and hangs without it.",
	},
	{
		ID: "no-room-to-surge", Severity: Error, needs: []Resource{Nodes}, check: checkNoRoomToSurge,
		Title: "a rollout needs one more node with a free host port", Doc: "https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#max-unavailable",
		Why: "A port of the node can be had by one pod on each node. A rollout that must start a new pod before it ends an old one needs one more node, and hangs " +
			"without it. Ports that other workloads take are not looked at.",
	},
	{
		ID: "quota-stops-rollout", Severity: Error, needs: []Resource{Quotas}, check: checkQuotaStopsRollout,
		Title: "a rollout needs one pod more than a quota allows", Doc: "https://kubernetes.io/docs/concepts/policy/resource-quotas/",
		Why: "A rollout that must start a new pod before it ends an old one hangs where a ResourceQuota has no room for one pod more. Quotas with scopes are not " +
			"looked at, and neither is what a LimitRange adds to the pods.",
	},
	{
		ID: "budget-blocks-drains", Severity: Error, needs: []Resource{Budgets}, check: checkBudgetBlocksDrains,
		Title: "its budget refuses every eviction", Doc: docBudget,
		Why: "A drain of its node never ends, so upgrades stop there, or are forced and the budget protects nothing. Two budgets that cover the same pod have the " +
			"same effect: the API refuses to evict it. A Warning if it is so only for the fewest replicas that an autoscaler may leave.",
	},
	{
		ID: "no-budget", Severity: Warning, needs: []Resource{Budgets}, check: checkNoBudget,
		Title: "no PodDisruptionBudget covers it", Doc: docBudget,
		Why: "Drains of several nodes, as in an upgrade, may evict all replicas at once. A budget makes one drain wait for the other. It applies to evictions only, " +
			"not to rollouts or lost nodes.",
	},
	{
		ID: "budget-covers-nothing", Severity: Warning, needs: []Resource{Budgets, Deployments, StatefulSets}, checkBudget: checkBudgetCoversNothing,
		Title: "a PodDisruptionBudget covers no pod", Doc: docBudget,
		Why: "Its owner takes something for protected that is not: evictions may take all of its pods at once. The finding is about the budget. A Note if every " +
			"workload of the namespace with several replicas has a budget.",
	},
	{
		ID: "unhealthy-pods-block-drains", Severity: Warning, needs: []Resource{Budgets}, check: checkUnhealthyPodsBlockDrains,
		Title: "pods that are not ready block drains", Doc: docBudget + "#unhealthy-pod-eviction-policy",
		Why: "A budget without unhealthyPodEvictionPolicy AlwaysAllow refuses to evict a pod that is not ready while too few others are. Pods in a crash loop then " +
			"block the drains of their nodes, and so an upgrade that might be their cure, although no request depends on them.",
	},
	{
		ID: "autoscaler-minimum", Severity: Warning, needs: []Resource{Autoscalers}, check: checkAutoscalerMinimum,
		Title: "its autoscaler may leave it a single replica", Doc: "https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/",
		Why: "Under little load, a HorizontalPodAutoscaler scales down to minReplicas, which is 1 unless it is set. Whatever ends the only pod is then an outage. " +
			"While there is a single replica, the rule single-replica reports it instead.",
	},
	{
		ID: "recreates-all-pods", Severity: Warning, needs: []Resource{Services}, check: checkRecreatesAllPods,
		Title: "each rollout is an outage", Doc: "https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#recreate-deployment",
		Why: "With the strategy Recreate, a rollout ends all pods before it starts the first new one. Until one is ready, each request of a Service fails. A Note " +
			"where its pods share a volume, or are those of a database, because two revisions may not be able to run at the same time.",
	},
	{
		ID: "no-spread", Severity: Warning, needs: []Resource{Pods, Nodes}, check: checkNoSpread,
		Title: "its replicas are spread by luck", Doc: docSpread,
		Why: "Without a spread constraint or anti-affinity of its own, the scheduler only prefers different nodes and zones, and gives the wish up for a free node " +
			"or a cached image: after the next rollout or drain all replicas may be on one node. While they are, the rules one-node and one-zone report it instead.",
	},
	{
		ID: "unusable-domain", Severity: Warning, needs: []Resource{Nodes}, check: checkUnusableDomain,
		Title: "nodes that cannot take its pods, such as control-plane nodes, count as domains", Doc: docSpread,
		Why: "A hard spread constraint compares with the emptiest domain. If a domain stays empty for ever (by default node taints are ignored), the others can have " +
			"at most maxSkew pods each, and the rest stays Pending. An Error if more replicas than that are wanted already.",
	},
	{
		ID: "soft-constraint-violated", Severity: Warning, needs: []Resource{Pods, Nodes}, check: checkSoftConstraintViolated,
		Title: "a soft constraint is violated now", Doc: docSpread,
		Why: "ScheduleAnyway and preferred anti-affinity are preferences: the scheduler follows them when it can, and nothing corrects the placement later. The rule " +
			"counts the workload's own pods on domains that take pods now. A skew that hard constraints force is no violation.",
	},
	{
		ID: "no-readiness-probe", Severity: Warning, needs: []Resource{Services}, check: checkNoReadinessProbe,
		Title: "no readiness probe", Doc: docProbes,
		Why: "A pod without a readiness probe counts as ready as soon as its process runs: Services send it requests before it listens and while it hangs, and a " +
			"rollout ends the old pods too soon. A Note if no Service sends it requests, except for metrics.",
	},
	{
		ID: "no-prestop", Severity: Warning, needs: []Resource{Services}, check: checkNoPreStop,
		Title: "no preStop hook", Doc: "https://kubernetes.io/docs/tutorials/services/pods-and-endpoint-termination-flow/",
		Why: "A pod gets SIGTERM at the same moment as the proxies that send it requests learn that it ends. Without some seconds between the two, each rollout, " +
			"drain and scale-down refuses some requests. A server that keeps serving for some seconds after SIGTERM needs no preStop hook, but an audit cannot see " +
			"whether it does. Nothing is found where no other pod could take the requests: a single replica that ends before another takes its place. A Note if it " +
			"is asked for nothing but metrics.",
	},
	{
		ID: "offers-unready-pods", Severity: Warning, needs: []Resource{Services}, check: checkOffersUnreadyPods,
		Title: "its Service offers pods that are not ready", Doc: "https://kubernetes.io/docs/reference/kubernetes-api/service-resources/service-v1/#ServiceSpec",
		Why: "With publishNotReadyAddresses, clients are sent to pods that have not started and to pods that are ending, whatever their readiness probes and preStop " +
			"hooks do. The field is meant for peers that look for each other. A Service without an address of its own (clusterIP None) is taken for one of those, " +
			"and left alone.",
	},
	{
		ID: "short-grace-period", Severity: Warning, check: checkShortGracePeriod,
		Title: "the grace period ends before the preStop hook does", Doc: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination",
		Why: "The grace period begins when a pod is deleted, and includes preStop. If preStop uses it up, the server is killed two seconds after SIGTERM, and the " +
			"requests in flight fail. Only hooks that sleep are judged: the duration of others is unknown.",
	},
	{
		ID: "no-match-label-keys", Severity: Warning, check: checkNoMatchLabelKeys,
		Title: "a spread constraint counts the pods of old revisions too", Doc: docSpread,
		Why: "During a rollout the new pods are placed so that old and new pods together are even. When the old pods are gone, the new ones may be uneven, or a hard " +
			"constraint may have kept them Pending. matchLabelKeys with pod-template-hash spreads each revision by itself. A Note for a soft constraint. " +
			"StatefulSets replace pods one for one and do not need it.",
	},
	{
		ID: "fixed-node-ports", Severity: Warning, needs: []Resource{Nodes, Services, ConfigMaps, EndpointSlices}, check: checkFixedNodePorts,
		Title: "it sends requests to node ports of hard-coded nodes", Doc: "https://kubernetes.io/docs/concepts/services-networking/service/#type-nodeport",
		Why: "A list of nodes does not change when a node dies: its share of the requests fails until the list is edited. A Service's own name follows the " +
			"endpoints. The rule checks command lines, environment variables, the ConfigMaps that a template names, and endpoints created by hand; not images, " +
			"Secrets, or anything outside the cluster.",
	},
	{
		ID: "liveness-asks-readiness", Severity: Note, needs: []Resource{Services}, check: checkLivenessAsksReadiness,
		Title: "its liveness probe asks what its readiness probe asks", Doc: docProbes,
		Why: "A server that is only busy fails both at the same time. Its container is restarted in place of being left alone until it has caught up, and its " +
			"requests go to the others, which are then restarted as well. A liveness probe that waits for longer than the readiness probe is good practice.",
	},
}

// Documentation that several rules refer to.
const (
	docSpread = "https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/"
	docBudget = "https://kubernetes.io/docs/tasks/run-application/configure-pdb/"
	docProbes = "https://kubernetes.io/docs/tasks/configure-pod-container/configure-liveness-readiness-startup-probes/"
)
