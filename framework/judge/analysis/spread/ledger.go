package spread

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// SkewChange is an entry of the ledger: one change of a skew.
type SkewChange struct {
	at            history.Offset
	pod           string // empty: a node changed
	node, domain  string
	before, after int
	cause         Cause
	words         string // "backend-5 left w3 (b) by the scale-down to 4 replicas"
	blind         bool   // a watch may have missed its cause
}

func (c *SkewChange) String() string {
	return fmt.Sprintf("skew %d -> %d at %s: %s", c.before, c.after, prose.Moment(c.at), c.words)
}

// worse reports whether the change increased the skew beyond what is allowed.
func (c *SkewChange) worse(allowed int) bool { return c.after > c.before && c.after > allowed }

// SkewLedger follows the skew of workloads taken together over a topology, and names the cause of each change. Domains are those of
// Spread. Pods count if they have a node and are not terminating.
//
// The cause of a deletion without a recorded reason is inferred. If the pod's controller reported the deletion in an Event, the cause is
// a rollout if the newest pods are of another revision, and a scale-down otherwise. Without an Event, which may be lost, the cause is a
// rollout if the newest pods are of another revision, a scale-down if there were more pods than wanted, and otherwise another client.
// So a pod of an old revision that another client deletes during a rollout counts as the rollout's.
type SkewLedger struct {
	placer   *Placer
	facts    *evidence.Run
	keys     []history.Key
	topology string
	changes  []*SkewChange

	State     *history.State
	workloads map[history.Key]history.Workload
	deleted   map[history.Key]bool // pods that a controller deleted, according to its Events
	revisions map[history.Key][]revisionSeen
	replicas  map[history.Key][]replicasSeen
	lost      map[string]bool // nodes that were lost when they last became unschedulable
	known     map[string]bool // nodes that have ever existed
	skew      int
}

// revisionSeen is when a pod of a revision was created.
type revisionSeen struct {
	at       history.Offset
	revision string
}

// replicasSeen is the number of wanted replicas from a moment on.
type replicasSeen struct {
	at       history.Offset
	replicas int
}

// FollowSkew follows the workloads to the end of the judged part of a run.
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

// NewSkewLedger returns a ledger without entries that can say why a pod left.
func NewSkewLedger(f *evidence.Run, topology string, keys []history.Key) *SkewLedger {
	l := &SkewLedger{
		facts: f, keys: keys, topology: topology, placer: NewPlacer(topology), State: history.NewState(), lost: make(map[string]bool), known: make(map[string]bool),
		deleted: controllersDeleted(f.Record), workloads: make(map[history.Key]history.Workload), revisions: make(map[history.Key][]revisionSeen), replicas: make(map[history.Key][]replicasSeen),
	}
	if f.Objects == nil {
		f.Objects = inOneOrder(f.Record.Events) // once for all workloads and topologies
	}
	l.survey(f.Objects)
	return l
}

// inOneOrder returns the events about nodes, workloads and pods. Events of one moment are in that order, because each kind has its own
// watch, and their true order is unknown.
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

// survey notes when pods of each revision were created, and how many replicas were wanted. An inference may need later events.
func (l *SkewLedger) survey(events []history.Event) {
	for _, e := range events {
		if w := e.Workload; w != nil {
			if key := (history.Key{Namespace: w.Namespace, Name: w.Name}); slices.Contains(l.keys, key) {
				l.replicas[key] = append(l.replicas[key], replicasSeen{e.T, w.Replicas})
				l.workloads[key] = *w
			}
		}
	}
	seen := make(map[string]bool)
	for _, e := range events {
		if p := e.Pod; p != nil && p.Change == history.Added && !seen[p.UID] {
			seen[p.UID] = true
			if key, ok := l.Of(*p); ok {
				l.revisions[key] = append(l.revisions[key], revisionSeen{e.T, revisionOf(*p)})
			}
		}
	}
}

// Of returns the workload that owns a pod.
func (l *SkewLedger) Of(p history.Pod) (history.Key, bool) {
	for _, key := range l.keys {
		if w := l.workloads[key]; w.Owns(&p) {
			return key, true
		}
	}
	return history.Key{}, false
}

// owns reports whether one of the workloads owns a pod.
func (l *SkewLedger) owns(p *history.Pod) bool {
	return p != nil && slices.ContainsFunc(l.keys, func(key history.Key) bool {
		w := l.State.Workloads[key]
		return w.Owns(p)
	})
}

// revisionOf returns the revision of a pod of a Deployment or StatefulSet.
func revisionOf(p history.Pod) string {
	return cmp.Or(p.Labels[revisionLabel], p.Labels["controller-revision-hash"])
}

// take applies one event, and notes how it changed the skew.
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
		c.cause, c.words = ByRollout, e.Workload.Name+" chooses its nodes or pods differently"
	}
	l.noteNode(e)
	l.changes = append(l.changes, c)
	l.skew = skew
}

// before returns the object of an event as it was before the event.
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

// matters reports whether an event may have changed the skew. Most events do not, and counting takes long.
func (l *SkewLedger) matters(e history.Event, was beforeEvent) bool {
	switch {
	case e.Pod != nil && !l.owns(was.pod) && !l.owns(e.Pod):
		return false
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

// stays reports whether a pod has a node and is not terminating.
func stays(p history.Pod) bool { return p.Node != "" && !p.Deleting && !p.Ended() }

// measure returns the skew of the workloads' pods taken together.
func (l *SkewLedger) measure() int {
	var together history.Workload
	var pods []history.Pod
	for _, key := range l.keys {
		w, ok := l.State.Workloads[key]
		if !ok || len(w.Selector) == 0 {
			continue
		}
		together.NodeSelector = w.NodeSelector
		for _, p := range l.State.PodsOf(w.Pods()) {
			if stays(p) {
				pods = append(pods, p)
			}
		}
	}
	if len(pods) == 0 {
		return 0
	}
	return l.placer.Place(l.State, together, pods).Skew()
}

// noteNode notes why a node is unschedulable.
func (l *SkewLedger) noteNode(e history.Event) {
	if n := e.Node; n != nil {
		l.known[n.Name] = true
		if why := closed(*n); why != "" || n.Change == history.Deleted {
			l.lost[n.Name] = n.Change == history.Deleted || why == "lost"
		}
	}
}

// domain returns the domain of a node, or "no domain".
func (l *SkewLedger) domain(node string) string {
	return cmp.Or(l.State.Nodes[node].Labels[l.topology], "no domain")
}

// Count adds to the figures how often each cause made the skew too large.
func (l *SkewLedger) Count(v *verdict.Verdict, allowed int) {
	for _, c := range l.changes {
		if c.worse(allowed) && c.at >= l.facts.Begin() {
			name := "cause." + string(c.cause)
			v.Measure(name, v.Numbers[name]+1)
		}
	}
}

// decisive returns the change that made the skew too large, after which it stayed too large up to a moment; nil: unknown.
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
