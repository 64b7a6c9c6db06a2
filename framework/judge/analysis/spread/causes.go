package spread

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
)

// Cause is what changed a skew. Its text is part of the name of a figure, "cause.scaleDown".
type Cause string

// The causes. A pod's DisruptionTarget condition, the controllers' Kubernetes Events and the number of wanted replicas tell why the pod
// left.
//
// Source: https://kubernetes.io/docs/concepts/workloads/pods/disruptions/#pod-disruption-conditions
const (
	ByScheduler    Cause = "scheduler"    // it bound a pod
	BySpec         Cause = "nodeName"     // a pod was created with a node in its spec, without the scheduler
	ByScaleDown    Cause = "scaleDown"    // a surplus pod was deleted
	ByRollout      Cause = "rollout"      // a pod of an old revision was deleted
	ByLostNode     Cause = "lostNode"     // a node was lost or is back, or its pods were deleted because it is lost
	ByClosedNode   Cause = "closedNode"   // a node was cordoned, tainted, uncordoned or untainted
	ByNewNode      Cause = "newNode"      // a node was added
	ByRelabelling  Cause = "relabelling"  // a node or a pod got other labels
	ByEviction     Cause = "eviction"     // through the eviction API
	ByKubelet      Cause = "kubelet"      // evicted, under pressure
	ByPreemption   Cause = "preemption"   // for a pod of higher priority
	ByTaintManager Cause = "taintManager" // evicted from a node that is not lost
	ByDeletion     Cause = "deletion"     // by another client
	ByUnknown      Cause = "unknown"      // by another client, or by its controller, whose Event was lost
	ByEnding       Cause = "ending"       // a pod ended by itself
)

// controllersDeleted returns the pods that a ReplicaSet or StatefulSet deleted, according to its Kubernetes Events.
func controllersDeleted(run history.Run) map[history.Key]bool {
	deleted := make(map[history.Key]bool)
	for _, e := range run.Events {
		if e.KubeNote == nil {
			continue
		}
		if pod, ok := DeletedPod(e.KubeNote); ok {
			deleted[history.Key{Namespace: e.KubeNote.Namespace, Name: pod}] = true
		}
	}
	return deleted
}

// DeletedPod is the pod of which a controller's Kubernetes Event says that the controller deleted it: "Deleted pod: backend-1",
// "delete Pod backend-1 in StatefulSet backend successful".
func DeletedPod(n *history.KubeNote) (pod string, ok bool) {
	if n.Reason != "SuccessfulDelete" {
		return "", false
	}
	if rest, is := strings.CutPrefix(n.Message, "delete Pod "); is {
		pod, _, ok = strings.Cut(rest, " ")
		return pod, ok
	}
	return strings.CutPrefix(n.Message, "Deleted pod: ")
}

// explainPod says why a pod now counts for the skew, or no longer does.
func (l *SkewLedger) explainPod(c *SkewChange, was beforeEvent, p history.Pod) {
	gone := p.Change == history.Deleted
	if c.pod, c.node = p.Name, p.Node; c.node == "" && was.pod != nil {
		c.node = was.pod.Node
	}
	c.domain = l.domain(c.node)
	here := c.node + " (" + c.domain + ")"
	counted := was.pod != nil && stays(*was.pod)
	switch {
	case !counted && was.pod == nil && p.Change == history.Added:
		c.cause, c.words = BySpec, fmt.Sprintf("%s was made for %s", p.Name, here)
	case !counted:
		c.cause, c.words = ByScheduler, fmt.Sprintf("%s was bound to %s", p.Name, here)
	case !gone && stays(p):
		c.cause, c.words = ByRelabelling, fmt.Sprintf("%s on %s was relabelled", p.Name, here)
	default:
		var by string
		c.cause, by = l.Left(c.at, p)
		c.words = fmt.Sprintf("%s left %s %s", p.Name, here, by)
	}
}

// Left returns why a pod left, in words that follow "backend-5 left w3 (b)".
func (l *SkewLedger) Left(at history.Offset, p history.Pod) (Cause, string) {
	node, there := l.State.Nodes[p.Node]
	lost := !there || node.Ready != "True"
	switch p.Disruption {
	case evidence.EvictionReason:
		return ByEviction, "by an eviction through the API"
	case "DeletionByTaintManager":
		if lost {
			return ByLostNode, "with its node, which was lost"
		}
		return ByTaintManager, "by the taint manager"
	case "DeletionByPodGC":
		return ByLostNode, "with its node, which was lost"
	case "PreemptionByScheduler":
		return ByPreemption, "by preemption"
	case "TerminationByKubelet":
		return ByKubelet, "by its kubelet's eviction"
	}
	if p.Change != history.Deleted && !p.Deleting {
		return ByEnding, "when it ended as " + p.Phase
	}
	key, known := l.Of(p)
	controller := l.deleted[history.Key{Namespace: p.Namespace, Name: p.Name}]
	wanted, surplus := l.surplus(at, key)
	switch {
	case known && l.superseded(at, key, p):
		return ByRollout, "by the rollout"
	case known && (controller || surplus):
		return ByScaleDown, "by the scale-down to " + prose.Count(wanted, "replica")
	case !there:
		return ByLostNode, "after its node was deleted"
	}
	if l.facts.EventsMissing(at) {
		return ByUnknown, "by a deletion, or by its controller: what Kubernetes said of it was lost, as the watch of events was blind"
	}
	return ByDeletion, "by a deletion"
}

// superseded reports whether the newest pods, the last one created before or the next one after, are of another revision.
func (l *SkewLedger) superseded(at history.Offset, key history.Key, p history.Pod) bool {
	all := l.revisions[key]
	next, _ := slices.BinarySearchFunc(all, at+1, func(r revisionSeen, at history.Offset) int { return cmp.Compare(r.at, at) })
	own := revisionOf(p)
	return next > 0 && all[next-1].revision != own || next < len(all) && all[next].revision != own
}

// surplus reports whether more pods than wanted existed within the skew, and how many were wanted.
func (l *SkewLedger) surplus(at history.Offset, key history.Key) (wanted int, more bool) {
	wanted = -1
	for i, r := range l.replicas[key] {
		over := i+1 < len(l.replicas[key]) && l.replicas[key][i+1].at <= at-evidence.WatchSkew
		if !over && r.at <= at+evidence.WatchSkew && (wanted < 0 || r.replicas < wanted) {
			wanted = r.replicas
		}
	}
	left := 0
	w := l.State.Workloads[key]
	for _, p := range l.State.PodsOf(w.Pods()) {
		if !p.Deleting && !p.Ended() {
			left++
		}
	}
	return wanted, wanted >= 0 && left >= wanted // without the pod that left
}

// explainNode says why a domain was added, removed or changed.
func (l *SkewLedger) explainNode(c *SkewChange, was beforeEvent, n history.Node) {
	c.node, c.domain = n.Name, n.Labels[l.topology]
	here := c.node + " (" + c.domain + ")"
	gone := n.Change == history.Deleted
	why := ""
	if !gone {
		why = closed(n)
	}
	switch {
	case gone:
		c.cause, c.words = ByLostNode, here+" was deleted"
	case was.node == nil && !l.known[n.Name]:
		c.cause, c.words = ByNewNode, here+" is new"
	case was.node != nil && closed(*was.node) == why:
		c.cause, c.words = ByRelabelling, here+" was relabelled"
	case why == "lost":
		c.cause, c.words = ByLostNode, here+" was lost"
	case why != "":
		c.cause, c.words = ByClosedNode, here+" was "+why
	case l.lost[n.Name]:
		c.cause, c.words = ByLostNode, here+" is back, which was lost"
	default:
		c.cause, c.words = ByClosedNode, here+" takes pods again, which was closed"
	}
}
