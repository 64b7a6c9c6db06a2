package invariant

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// cause is who or what changed a skew. Its text is part of the name of a figure, "cause.scaleDown".
type cause string

// The causes. Those of pods that leave are told apart by their DisruptionTarget condition, by what the controllers say in
// Kubernetes Events, and by what was wanted at the time.
//
// Source: https://kubernetes.io/docs/concepts/workloads/pods/disruptions/#pod-disruption-conditions
const (
	byScheduler    cause = "scheduler"    // it bound a pod
	bySpec         cause = "nodeName"     // a pod was made with a node in its spec, past the scheduler
	byScaleDown    cause = "scaleDown"    // a pod too many was deleted
	byRollout      cause = "rollout"      // a pod of an old revision was deleted
	byLostNode     cause = "lostNode"     // a node was lost or is back, or its pods were deleted because it is lost
	byClosedNode   cause = "closedNode"   // a node was cordoned or tainted, or is no longer
	byNewNode      cause = "newNode"      // a node came that had not been there
	byRelabelling  cause = "relabelling"  // a node or a pod got other labels
	byEviction     cause = "eviction"     // through the eviction API
	byKubelet      cause = "kubelet"      // evicted, under pressure
	byPreemption   cause = "preemption"   // for a pod that matters more
	byTaintManager cause = "taintManager" // evicted from a node that is not lost
	byDeletion     cause = "deletion"     // by anybody else
	byEnding       cause = "ending"       // a pod ended by itself
)

// skewChange is an entry of the ledger: one thing that changed a skew.
type skewChange struct {
	at            history.Offset
	pod           string // empty when it was a node
	node, domain  string
	before, after int
	cause         cause
	words         string // "backend-5 left w3 (b) by the scale-down to 4 replicas"
	blind         bool   // a watch may have missed what led to it
}

func (c *skewChange) String() string {
	return fmt.Sprintf("skew %d -> %d at %s: %s", c.before, c.after, moment(c.at), c.words)
}

// worse tells whether the change made more of it than is allowed, and than there was.
func (c *skewChange) worse(allowed int) bool { return c.after > c.before && c.after > allowed }

// skewLedger follows the skew of workloads taken together over a topology, and says of each change who caused it. Domains
// are those of Spread; of the pods, those are counted that have a node and are not going.
//
// What it says of a pod that was deleted without a reason is concluded. A pod of which its controller says that it deleted
// it went with a rollout when the newest pods are of another revision, and with a scale-down otherwise. Events may get
// lost: without one, it went with a rollout if the newest pods are of another revision, with a scale-down if there were
// more pods than wanted, and else somebody deleted it. So a pod of an old revision that somebody deletes in the middle of a
// rollout is counted as the rollout's.
type skewLedger struct {
	facts    *facts
	keys     []history.Key
	topology string
	changes  []*skewChange

	state     *history.State
	selectors map[history.Key]map[string]string
	deleted   map[history.Key]bool // pods that a controller says it deleted
	revisions map[history.Key][]revisionSeen
	replicas  map[history.Key][]replicasSeen
	lost      map[string]bool // nodes that were lost when they were last closed
	known     map[string]bool // nodes that were ever there
	skew      int
}

// revisionSeen is when a pod of a revision was made.
type revisionSeen struct {
	at       history.Offset
	revision string
}

// replicasSeen is how many replicas were wanted from a moment on.
type replicasSeen struct {
	at       history.Offset
	replicas int
}

// followSkew follows the workloads through a run, to the end of what is judged.
func followSkew(f *facts, topology string, keys ...history.Key) *skewLedger {
	l := newSkewLedger(f, topology, keys)
	end := f.end()
	for _, e := range f.objects {
		if e.T >= end && end > 0 {
			break
		}
		l.take(e)
	}
	return l
}

// newSkewLedger returns an empty ledger that knows what is needed to say why a pod left.
func newSkewLedger(f *facts, topology string, keys []history.Key) *skewLedger {
	l := &skewLedger{
		facts: f, keys: keys, topology: topology, state: history.NewState(), lost: make(map[string]bool), known: make(map[string]bool),
		deleted: controllersDeleted(f.run), selectors: make(map[history.Key]map[string]string), revisions: make(map[history.Key][]revisionSeen), replicas: make(map[history.Key][]replicasSeen),
	}
	if f.objects == nil {
		f.objects = inOneOrder(f.run.Events) // once for all workloads and topologies
	}
	l.survey(f.objects)
	return l
}

// inOneOrder are the events about nodes, workloads and pods, in that order where they are of one moment: each kind was told
// of by a watch of its own, and nobody knows which came first.
func inOneOrder(events []history.Event) (sorted []history.Event) {
	for _, e := range events {
		if e.Node != nil || e.Workload != nil || e.Pod != nil {
			sorted = append(sorted, e)
		}
	}
	rank := func(e history.Event) (int, string) {
		switch {
		case e.Node != nil:
			return 0, e.Node.Name
		case e.Workload != nil:
			return 1, e.Workload.Namespace + "/" + e.Workload.Name
		}
		return 2, e.Pod.UID
	}
	slices.SortStableFunc(sorted, func(a, b history.Event) int {
		if c := cmp.Compare(a.T, b.T); c != 0 {
			return c
		}
		kindA, nameA := rank(a)
		kindB, nameB := rank(b)
		return cmp.Or(cmp.Compare(kindA, kindB), cmp.Compare(nameA, nameB))
	})
	return sorted
}

// controllersDeleted are the pods of which a ReplicaSet or StatefulSet says in a Kubernetes Event that it deleted them:
// "Deleted pod: backend-1", "delete Pod backend-1 in StatefulSet backend successful".
func controllersDeleted(run history.Run) map[history.Key]bool {
	deleted := make(map[history.Key]bool)
	for _, e := range run.Events {
		n := e.KubeNote
		if n == nil || n.Reason != "SuccessfulDelete" {
			continue
		}
		name, ok := strings.CutPrefix(n.Message, "Deleted pod: ")
		if rest, is := strings.CutPrefix(n.Message, "delete Pod "); is {
			name, _, ok = strings.Cut(rest, " ")
		}
		if ok {
			deleted[history.Key{Namespace: n.Namespace, Name: name}] = true
		}
	}
	return deleted
}

// survey notes when pods of which revision were made, and how many were wanted: a conclusion may rest on what was told
// later.
func (l *skewLedger) survey(events []history.Event) {
	for _, e := range events {
		if w := e.Workload; w != nil {
			if key := (history.Key{Namespace: w.Namespace, Name: w.Name}); slices.Contains(l.keys, key) {
				l.replicas[key] = append(l.replicas[key], replicasSeen{e.T, w.Replicas})
				if len(w.Selector) > 0 {
					l.selectors[key] = w.Selector
				}
			}
		}
	}
	seen := make(map[string]bool)
	for _, e := range events {
		if p := e.Pod; p != nil && p.Change == history.Added && !seen[p.UID] {
			seen[p.UID] = true
			if key, ok := l.of(*p); ok {
				l.revisions[key] = append(l.revisions[key], revisionSeen{e.T, revisionOf(*p)})
			}
		}
	}
}

// of is the workload that a pod belongs to.
func (l *skewLedger) of(p history.Pod) (history.Key, bool) {
	for _, key := range l.keys {
		if of := l.selectors[key]; key.Namespace == p.Namespace && len(of) > 0 && history.Selects(of, p.Labels) {
			return key, true
		}
	}
	return history.Key{}, false
}

// revisionOf is the revision of a Deployment's or a StatefulSet's pod.
func revisionOf(p history.Pod) string {
	return cmp.Or(p.Labels[revisionLabel], p.Labels["controller-revision-hash"])
}

// take takes in one event, and notes what it did to the skew.
func (l *skewLedger) take(e history.Event) {
	was := l.before(e)
	l.state.Apply(e)
	if !l.matters(e, was) {
		return
	}
	skew := l.measure()
	if skew == l.skew {
		l.noteNode(e)
		return
	}
	c := &skewChange{at: e.T, before: l.skew, after: skew, blind: l.facts.blind(e.T)}
	switch {
	case e.Pod != nil:
		l.explainPod(c, was, *e.Pod)
	case e.Node != nil:
		l.explainNode(c, was, *e.Node)
	default:
		c.cause, c.words = byRollout, e.Workload.Name+" chooses its nodes or pods differently"
	}
	l.noteNode(e)
	l.changes = append(l.changes, c)
	l.skew = skew
}

// before is what an event's object was before it.
type beforeEvent struct {
	pod  *history.Pod
	node *history.Node
}

func (l *skewLedger) before(e history.Event) (was beforeEvent) {
	if e.Pod != nil {
		if p, ok := l.state.Pods[e.Pod.UID]; ok {
			was.pod = &p
		}
	}
	if e.Node != nil {
		if n, ok := l.state.Nodes[e.Node.Name]; ok {
			was.node = &n
		}
	}
	return was
}

// matters tells whether an event may have changed the skew: most do not, and counting takes long.
func (l *skewLedger) matters(e history.Event, was beforeEvent) bool {
	switch {
	case e.Pod != nil:
		counted := was.pod != nil && stays(*was.pod)
		counts := e.Pod.Change != history.Deleted && stays(*e.Pod)
		return counted != counts || counts && (was.pod.Node != e.Pod.Node || !sameLabels(was.pod.Labels, e.Pod.Labels))
	case e.Node != nil:
		there := e.Node.Change != history.Deleted
		return was.node == nil || !there || closed(*was.node) != closed(*e.Node) || !sameLabels(was.node.Labels, e.Node.Labels)
	case e.Workload != nil:
		return slices.Contains(l.keys, history.Key{Namespace: e.Workload.Namespace, Name: e.Workload.Name})
	}
	return false
}

func sameLabels(a, b map[string]string) bool { return len(a) == len(b) && history.Selects(a, b) }

// stays tells whether a pod has a node and is not going.
func stays(p history.Pod) bool { return p.Node != "" && !p.Deleting && !p.Ended() }

// measure is the skew of the workloads' pods, taken together.
func (l *skewLedger) measure() int {
	var together history.Workload
	var pods []history.Pod
	for _, key := range l.keys {
		w, ok := l.state.Workloads[key]
		if !ok || len(w.Selector) == 0 {
			continue
		}
		together.NodeSelector = w.NodeSelector
		for _, p := range l.state.PodsOf(w.Namespace, w.Selector) {
			if stays(p) {
				pods = append(pods, p)
			}
		}
	}
	if len(pods) == 0 {
		return 0
	}
	return place(l.state, together, pods, l.topology).skew()
}

// noteNode remembers why a node is closed.
func (l *skewLedger) noteNode(e history.Event) {
	if n := e.Node; n != nil {
		l.known[n.Name] = true
		if why := closed(*n); why != "" || n.Change == history.Deleted {
			l.lost[n.Name] = n.Change == history.Deleted || why == "lost"
		}
	}
}

// explainPod says why a pod is counted that was not, or is not that was.
func (l *skewLedger) explainPod(c *skewChange, was beforeEvent, p history.Pod) {
	gone := p.Change == history.Deleted
	if c.pod, c.node = p.Name, p.Node; c.node == "" && was.pod != nil {
		c.node = was.pod.Node
	}
	c.domain = l.domain(c.node)
	here := c.node + " (" + c.domain + ")"
	counted := was.pod != nil && stays(*was.pod)
	switch {
	case !counted && was.pod == nil && p.Change == history.Added:
		c.cause, c.words = bySpec, fmt.Sprintf("%s was made for %s", p.Name, here)
	case !counted:
		c.cause, c.words = byScheduler, fmt.Sprintf("%s was bound to %s", p.Name, here)
	case !gone && stays(p):
		c.cause, c.words = byRelabelling, fmt.Sprintf("%s on %s was relabelled", p.Name, here)
	default:
		var by string
		c.cause, by = l.left(c.at, p)
		c.words = fmt.Sprintf("%s left %s %s", p.Name, here, by)
	}
}

// left says why a pod went, in words that follow "backend-5 left w3 (b)".
func (l *skewLedger) left(at history.Offset, p history.Pod) (cause, string) {
	node, there := l.state.Nodes[p.Node]
	lost := !there || node.Ready != "True"
	switch p.Disruption {
	case evictionReason:
		return byEviction, "by an eviction through the API"
	case "DeletionByTaintManager":
		if lost {
			return byLostNode, "with its node, which was lost"
		}
		return byTaintManager, "by the taint manager"
	case "DeletionByPodGC":
		return byLostNode, "with its node, which was lost"
	case "PreemptionByScheduler":
		return byPreemption, "by preemption"
	case "TerminationByKubelet":
		return byKubelet, "by its kubelet's eviction"
	}
	if p.Change != history.Deleted && !p.Deleting {
		return byEnding, "when it ended as " + p.Phase
	}
	key, known := l.of(p)
	controller := l.deleted[history.Key{Namespace: p.Namespace, Name: p.Name}]
	wanted, surplus := l.surplus(at, key)
	switch {
	case known && l.superseded(at, key, p):
		return byRollout, "by the rollout"
	case known && (controller || surplus):
		return byScaleDown, "by the scale-down to " + count(wanted, "replica")
	case !there:
		return byLostNode, "after its node was deleted"
	}
	return byDeletion, "by a deletion"
}

// superseded tells whether the newest pods are of another revision: the one that was made last, or the one made next.
func (l *skewLedger) superseded(at history.Offset, key history.Key, p history.Pod) bool {
	all := l.revisions[key]
	next, _ := slices.BinarySearchFunc(all, at+1, func(r revisionSeen, at history.Offset) int { return cmp.Compare(r.at, at) })
	own := revisionOf(p)
	return next > 0 && all[next-1].revision != own || next < len(all) && all[next].revision != own
}

// surplus tells whether more pods were there than wanted within the skew, and how many were wanted.
func (l *skewLedger) surplus(at history.Offset, key history.Key) (wanted int, more bool) {
	wanted = -1
	for i, r := range l.replicas[key] {
		over := i+1 < len(l.replicas[key]) && l.replicas[key][i+1].at <= at-watchSkew
		if !over && r.at <= at+watchSkew && (wanted < 0 || r.replicas < wanted) {
			wanted = r.replicas
		}
	}
	left := 0
	w := l.state.Workloads[key]
	for _, p := range l.state.PodsOf(w.Namespace, w.Selector) {
		if !p.Deleting && !p.Ended() {
			left++
		}
	}
	return wanted, wanted >= 0 && left >= wanted // without the one that went
}

// explainNode says why a domain came, went, or changed.
func (l *skewLedger) explainNode(c *skewChange, was beforeEvent, n history.Node) {
	c.node, c.domain = n.Name, n.Labels[l.topology]
	here := c.node + " (" + c.domain + ")"
	gone := n.Change == history.Deleted
	why := ""
	if !gone {
		why = closed(n)
	}
	switch {
	case gone:
		c.cause, c.words = byLostNode, here+" was deleted"
	case was.node == nil && !l.known[n.Name]:
		c.cause, c.words = byNewNode, here+" is new"
	case was.node != nil && closed(*was.node) == why:
		c.cause, c.words = byRelabelling, here+" was relabelled"
	case why == "lost":
		c.cause, c.words = byLostNode, here+" was lost"
	case why != "":
		c.cause, c.words = byClosedNode, here+" was "+why
	case l.lost[n.Name]:
		c.cause, c.words = byLostNode, here+" is back, which was lost"
	default:
		c.cause, c.words = byClosedNode, here+" takes pods again, which was closed"
	}
}

// domain is that of a node, or what stands for none.
func (l *skewLedger) domain(node string) string {
	return cmp.Or(l.state.Nodes[node].Labels[l.topology], "no domain")
}

// count puts down how often each cause made more skew than is allowed.
func (l *skewLedger) count(v *Verdict, allowed int) {
	for _, c := range l.changes {
		if c.worse(allowed) && c.at >= l.facts.begin() {
			name := "cause." + string(c.cause)
			v.measure(name, v.Numbers[name]+1)
		}
	}
}

// decisive is the change that made the skew more than is allowed and after which it stayed so, up to a moment. Nil: none
// is known.
func (l *skewLedger) decisive(at history.Offset, allowed int) *skewChange {
	var found *skewChange
	for _, c := range l.changes {
		if c.at > at {
			break
		}
		switch {
		case c.after <= allowed:
			found = nil
		case c.before <= allowed:
			found = c
		}
	}
	return found
}
