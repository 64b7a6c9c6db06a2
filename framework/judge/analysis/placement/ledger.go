package placement

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// PlacedPod is the life of a pod as far as it matters to where other pods may go.
type PlacedPod struct {
	history.Pod                     // as it was when it was bound; if it was not, as it was first
	Rules       *podRules           // nil if the record does not have them, or they cannot be parsed
	rulesText   string              // as recorded
	err         error               // why they cannot be parsed
	labels      []map[string]string // every set of labels that it had

	Bound       evidence.Mark // when it got its node
	Early       bool          // it had its node when the watch began, so the time of its binding is not known
	BySpec      bool          // it was created with its node, and not bound by the scheduler
	going, over evidence.Mark // when its deletion was accepted; when it had ended or vanished
}

// counted says whether the scheduler counted the pod for a spread: terminating pods do not count.
func (p *PlacedPod) counted(b evidence.Mark, skew time.Duration) evidence.Presence {
	return p.within(b, skew, p.going)
}

// there says whether the pod counted for affinity: terminating pods do.
func (p *PlacedPod) there(b evidence.Mark, skew time.Duration) evidence.Presence {
	return p.within(b, skew, p.over)
}

func (p *PlacedPod) within(b evidence.Mark, skew time.Duration, end evidence.Mark) evidence.Presence {
	return during(p.Bound.Before(b, skew), end.EndedBefore(b, skew))
}

// during says whether something was in force, given whether it had begun and whether it had ended.
func during(began, ended evidence.Presence) evidence.Presence {
	switch {
	case began == evidence.No, ended == evidence.Sure:
		return evidence.No
	case began == evidence.Sure && ended == evidence.No:
		return evidence.Sure
	}
	return evidence.Maybe
}

// assumed reports whether the scheduler may have assumed the pod on a node that the record does not have: the pod vanished while
// it was being bound.
func (p *PlacedPod) assumed(b evidence.Mark, skew time.Duration) bool {
	return p.Bound == evidence.Unseen && (p.going.Before(b, skew) == evidence.Maybe || p.over.Before(b, skew) == evidence.Maybe)
}

// selectedBy says whether a selector selects the pod, with any of the labels that it had.
func (p *PlacedPod) selectedBy(matches func(labels map[string]string) bool) evidence.Presence {
	n := 0
	for _, labels := range p.labels {
		if matches(labels) {
			n++
		}
	}
	switch n {
	case 0:
		return evidence.No
	case len(p.labels):
		return evidence.Sure
	}
	return evidence.Maybe
}

// nodePoint is a node's state from a moment on; nil: it did not exist.
type nodePoint struct {
	evidence.Mark
	node *corev1.Node
}

// Ledger holds what a record has of pods and nodes.
type Ledger struct {
	Pods  []*PlacedPod // in the order in which they were bound
	nodes map[string][]nodePoint
	names []string // of the nodes, sorted
}

// NewLedger reads a record.
func NewLedger(run history.Run) *Ledger {
	l := &Ledger{nodes: make(map[string][]nodePoint)}
	pods := make(map[string]*PlacedPod) // by UID
	for _, e := range run.Events {
		switch {
		case e.Pod != nil:
			l.addPod(pods, evidence.Mark{At: e.T, Name: e.Pod.UID}, e.Pod)
		case e.Node != nil:
			l.addNode(e.T, e.Node)
		}
	}
	l.names = slices.Sorted(maps.Keys(l.nodes))
	slices.SortStableFunc(l.Pods, func(a, b *PlacedPod) int { return cmp.Or(a.Bound.Compare(b.Bound), cmp.Compare(a.UID, b.UID)) })
	return l
}

func (l *Ledger) addPod(pods map[string]*PlacedPod, m evidence.Mark, seen *history.Pod) {
	p := pods[seen.UID]
	first := p == nil
	if first {
		p = &PlacedPod{Pod: *seen, Bound: evidence.Unseen, going: evidence.Unseen, over: evidence.Unseen}
		pods[seen.UID] = p
		l.Pods = append(l.Pods, p)
	}
	if p.Rules == nil && p.err == nil && seen.Rules != nil {
		p.rulesText = string(seen.Rules)
		p.Rules, p.err = readRules(seen.Rules, seen.Namespace)
	}
	if !slices.ContainsFunc(p.labels, func(had map[string]string) bool { return maps.Equal(had, seen.Labels) }) {
		p.labels = append(p.labels, seen.Labels)
	}
	if p.Bound == evidence.Unseen && seen.Node != "" {
		p.Pod, p.Bound = *seen, m
		p.Early = first && seen.Change != history.Added
		p.BySpec = first && seen.Change == history.Added
	}
	gone := seen.Change == history.Deleted || seen.Ended()
	if p.over == evidence.Unseen && gone {
		p.over = m
	}
	if p.going == evidence.Unseen && (gone || seen.Deleting) {
		p.going = m
	}
}

func (l *Ledger) addNode(at history.Offset, seen *history.Node) {
	m := evidence.Mark{At: at} // without a name, it precedes the changes of pods at the same moment
	points := l.nodes[seen.Name]
	switch {
	case len(points) > 0:
	case seen.Change == history.Added:
		points = append(points, nodePoint{Mark: evidence.Always})
	default:
		m = evidence.Always // the node existed before it was listed
	}
	point := nodePoint{Mark: m}
	if seen.Change != history.Deleted {
		point.node = apiNode(seen)
	}
	l.nodes[seen.Name] = append(points, point)
}

// Missing returns why the record does not have the rules by which pods were placed.
func (l *Ledger) Missing() (missing verdict.Missing) {
	unrecorded := false
	for _, p := range l.Pods {
		switch {
		case p.err != nil:
			missing.Add("the rules by which %s is placed cannot be weighed: %s", p.Name, p.err)
		case p.Rules == nil:
			unrecorded = true
		}
	}
	if unrecorded {
		missing.Add("the record does not say by which rules pods are placed")
	}
	return missing
}
