package spread

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/prose"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// SkewChange is an entry of the ledger: one thing that changed a skew.
type SkewChange struct {
	at            history.Offset
	pod           string // empty when it was a node
	node, domain  string
	before, after int
	cause         Cause
	words         string // "backend-5 left w3 (b) by the scale-down to 4 replicas"
	blind         bool   // a watch may have missed what led to it
}

func (c *SkewChange) String() string {
	return fmt.Sprintf("skew %d -> %d at %s: %s", c.before, c.after, prose.Moment(c.at), c.words)
}

// worse tells whether the change made more of it than is allowed, and than there was.
func (c *SkewChange) worse(allowed int) bool { return c.after > c.before && c.after > allowed }

// SkewLedger follows the skew of workloads taken together over a topology, and says of each change who caused it. Domains
// are those of Spread; of the pods, those are counted that have a node and are not going.
//
// What it says of a pod that was deleted without a reason is concluded. A pod of which its controller says that it deleted
// it went with a rollout when the newest pods are of another revision, and with a scale-down otherwise. Events may get
// lost: without one, it went with a rollout if the newest pods are of another revision, with a scale-down if there were
// more pods than wanted, and else somebody deleted it. So a pod of an old revision that somebody deletes in the middle of a
// rollout is counted as the rollout's.
type SkewLedger struct {
	facts    *evidence.Run
	keys     []history.Key
	topology string
	changes  []*SkewChange

	State     *history.State
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

// FollowSkew follows the workloads through a run, to the end of what is judged.
func FollowSkew(f *evidence.Run, topology string, keys ...history.Key) *SkewLedger {
	l := NewSkewLedger(f, topology, keys)
	end := f.End()
	for _, e := range f.Objects {
		if e.T >= end && end > 0 {
			break
		}
		l.take(e)
	}
	return l
}

// NewSkewLedger returns an empty ledger that knows what is needed to say why a pod left.
func NewSkewLedger(f *evidence.Run, topology string, keys []history.Key) *SkewLedger {
	l := &SkewLedger{
		facts: f, keys: keys, topology: topology, State: history.NewState(), lost: make(map[string]bool), known: make(map[string]bool),
		deleted: controllersDeleted(f.Record), selectors: make(map[history.Key]map[string]string), revisions: make(map[history.Key][]revisionSeen), replicas: make(map[history.Key][]replicasSeen),
	}
	if f.Objects == nil {
		f.Objects = inOneOrder(f.Record.Events) // once for all workloads and topologies
	}
	l.survey(f.Objects)
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

// survey notes when pods of which revision were made, and how many were wanted: a conclusion may rest on what was told
// later.
func (l *SkewLedger) survey(events []history.Event) {
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
func (l *SkewLedger) of(p history.Pod) (history.Key, bool) {
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
func (l *SkewLedger) take(e history.Event) {
	was := l.before(e)
	l.State.Apply(e)
	if !l.matters(e, was) {
		return
	}
	skew := l.measure()
	if skew == l.skew {
		l.noteNode(e)
		return
	}
	c := &SkewChange{at: e.T, before: l.skew, after: skew, blind: l.facts.Blind(e.T)}
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

func (l *SkewLedger) before(e history.Event) (was beforeEvent) {
	if e.Pod != nil {
		if p, ok := l.State.Pods[e.Pod.UID]; ok {
			was.pod = &p
		}
	}
	if e.Node != nil {
		if n, ok := l.State.Nodes[e.Node.Name]; ok {
			was.node = &n
		}
	}
	return was
}

// matters tells whether an event may have changed the skew: most do not, and counting takes long.
func (l *SkewLedger) matters(e history.Event, was beforeEvent) bool {
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
func (l *SkewLedger) measure() int {
	var together history.Workload
	var pods []history.Pod
	for _, key := range l.keys {
		w, ok := l.State.Workloads[key]
		if !ok || len(w.Selector) == 0 {
			continue
		}
		together.NodeSelector = w.NodeSelector
		for _, p := range l.State.PodsOf(w.Namespace, w.Selector) {
			if stays(p) {
				pods = append(pods, p)
			}
		}
	}
	if len(pods) == 0 {
		return 0
	}
	return Place(l.State, together, pods, l.topology).Skew()
}

// noteNode remembers why a node is closed.
func (l *SkewLedger) noteNode(e history.Event) {
	if n := e.Node; n != nil {
		l.known[n.Name] = true
		if why := closed(*n); why != "" || n.Change == history.Deleted {
			l.lost[n.Name] = n.Change == history.Deleted || why == "lost"
		}
	}
}

// domain is that of a node, or what stands for none.
func (l *SkewLedger) domain(node string) string {
	return cmp.Or(l.State.Nodes[node].Labels[l.topology], "no domain")
}

// Count puts down how often each cause made more skew than is allowed.
func (l *SkewLedger) Count(v *verdict.Verdict, allowed int) {
	for _, c := range l.changes {
		if c.worse(allowed) && c.at >= l.facts.Begin() {
			name := "cause." + string(c.cause)
			v.Measure(name, v.Numbers[name]+1)
		}
	}
}

// decisive is the change that made the skew more than is allowed and after which it stayed so, up to a moment. Nil: none
// is known.
func (l *SkewLedger) decisive(at history.Offset, allowed int) *SkewChange {
	var found *SkewChange
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
