package placement

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// PlacedPod is the life of a pod as far as it matters to where others may go.
type PlacedPod struct {
	history.Pod                     // as it was when it was bound, or else as it was first
	Rules       *podRules           // nil when the record does not tell them, or they cannot be read
	rulesText   string              // as they were told
	err         error               // why they cannot be read
	labels      []map[string]string // all that it had

	Bound       evidence.Mark // when it got its node
	Early       bool          // it had its node when the watch began: when it got it is not known
	BySpec      bool          // it had its node from the beginning, not from the scheduler
	going, over evidence.Mark // when its deletion was accepted; when it had ended or vanished
}

// counted tells whether the scheduler counted the pod for a spread: pods that are going do not count.
func (p *PlacedPod) counted(b evidence.Mark, skew time.Duration) evidence.Presence {
	return p.within(b, skew, p.going)
}

// there tells whether the pod was there for affinity: pods that are going are.
func (p *PlacedPod) there(b evidence.Mark, skew time.Duration) evidence.Presence {
	return p.within(b, skew, p.over)
}

func (p *PlacedPod) within(b evidence.Mark, skew time.Duration, end evidence.Mark) evidence.Presence {
	return during(p.Bound.Before(b, skew), end.EndedBefore(b, skew))
}

// during tells whether something was the case that had come and not ended.
func during(came, ended evidence.Presence) evidence.Presence {
	switch {
	case came == evidence.No, ended == evidence.Sure:
		return evidence.No
	case came == evidence.Sure && ended == evidence.No:
		return evidence.Sure
	}
	return evidence.Maybe
}

// ghost tells whether the pod may have been on a node in the scheduler's eyes only: it vanished while it was being bound.
func (p *PlacedPod) ghost(b evidence.Mark, skew time.Duration) bool {
	return p.Bound == evidence.Unseen && (p.going.Before(b, skew) == evidence.Maybe || p.over.Before(b, skew) == evidence.Maybe)
}

// chosenBy tells whether something chooses the pod, whatever its labels were, or may.
func (p *PlacedPod) chosenBy(chooses func(labels map[string]string) bool) evidence.Presence {
	yes := 0
	for _, labels := range p.labels {
		if chooses(labels) {
			yes++
		}
	}
	switch yes {
	case 0:
		return evidence.No
	case len(p.labels):
		return evidence.Sure
	}
	return evidence.Maybe
}

// nodePoint is what a node was from a moment on; nil: it was not there.
type nodePoint struct {
	evidence.Mark
	node *history.Node
}

// PlacementLedger holds what a record tells of pods and nodes.
type PlacementLedger struct {
	Pods  []*PlacedPod // in the order in which they were bound
	nodes map[string][]nodePoint
	names []string // of the nodes, sorted
}

func NewPlacementLedger(run history.Run) *PlacementLedger {
	l := &PlacementLedger{nodes: make(map[string][]nodePoint)}
	pods := make(map[string]*PlacedPod) // by UID
	for _, e := range run.Events {
		switch {
		case e.Pod != nil:
			l.pod(pods, evidence.Mark{At: e.T, Name: e.Pod.UID}, e.Pod)
		case e.Node != nil:
			l.node(e.T, e.Node)
		}
	}
	l.names = slices.Sorted(maps.Keys(l.nodes))
	slices.SortStableFunc(l.Pods, func(a, b *PlacedPod) int { return cmp.Or(a.Bound.Compare(b.Bound), cmp.Compare(a.UID, b.UID)) })
	return l
}

func (l *PlacementLedger) pod(pods map[string]*PlacedPod, m evidence.Mark, told *history.Pod) {
	p := pods[told.UID]
	first := p == nil
	if first {
		p = &PlacedPod{Pod: *told, Bound: evidence.Unseen, going: evidence.Unseen, over: evidence.Unseen}
		pods[told.UID] = p
		l.Pods = append(l.Pods, p)
	}
	if p.Rules == nil && p.err == nil && told.Rules != nil {
		p.rulesText = string(told.Rules)
		p.Rules, p.err = readRules(told.Rules, told.Namespace)
	}
	if !slices.ContainsFunc(p.labels, func(had map[string]string) bool { return maps.Equal(had, told.Labels) }) {
		p.labels = append(p.labels, told.Labels)
	}
	if p.Bound == evidence.Unseen && told.Node != "" {
		p.Pod, p.Bound = *told, m
		p.Early = first && told.Change != history.Added
		p.BySpec = first && told.Change == history.Added
	}
	gone := told.Change == history.Deleted || told.Ended()
	if p.over == evidence.Unseen && gone {
		p.over = m
	}
	if p.going == evidence.Unseen && (gone || told.Deleting) {
		p.going = m
	}
}

func (l *PlacementLedger) node(at history.Offset, told *history.Node) {
	m := evidence.Mark{At: at} // before all that a pod was told to do in the same moment
	name := told.Name
	points := l.nodes[name]
	switch {
	case len(points) > 0:
	case told.Change == history.Added:
		points = append(points, nodePoint{Mark: evidence.Always})
	default:
		m = evidence.Always // it was there before it was listed
	}
	if told.Change == history.Deleted {
		told = nil
	}
	l.nodes[name] = append(points, nodePoint{m, told})
}

// Doubts a record that does not tell by what rules pods were placed.
func (l *PlacementLedger) Doubts() (d verdict.Missing) {
	silent := false
	for _, p := range l.Pods {
		switch {
		case p.err != nil:
			d.Add("the rules by which %s is placed cannot be weighed: %s", p.Name, p.err)
		case p.Rules == nil:
			silent = true
		}
	}
	if silent {
		d.Add("the record does not say by which rules pods are placed")
	}
	return d
}
