package invariant

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// placedPod is the life of a pod as far as it matters to where others may go.
type placedPod struct {
	history.Pod                     // as it was when it was bound, or else as it was first
	rules       *podRules           // nil when the record does not tell them, or they cannot be read
	rulesText   string              // as they were told
	err         error               // why they cannot be read
	labels      []map[string]string // all that it had

	bound       mark // when it got its node
	early       bool // it had its node when the watch began: when it got it is not known
	bySpec      bool // it had its node from the beginning, not from the scheduler
	going, over mark // when its deletion was accepted; when it had ended or vanished
}

// counted tells whether the scheduler counted the pod for a spread: pods that are going do not count.
func (p *placedPod) counted(b mark, skew time.Duration) presence { return p.within(b, skew, p.going) }

// there tells whether the pod was there for affinity: pods that are going are.
func (p *placedPod) there(b mark, skew time.Duration) presence { return p.within(b, skew, p.over) }

func (p *placedPod) within(b mark, skew time.Duration, end mark) presence {
	return during(p.bound.before(b, skew), end.endedBefore(b, skew))
}

// during tells whether something was the case that had come and not ended.
func during(came, ended presence) presence {
	switch {
	case came == no, ended == sure:
		return no
	case came == sure && ended == no:
		return sure
	}
	return maybe
}

// ghost tells whether the pod may have been on a node in the scheduler's eyes only: it vanished while it was being bound.
func (p *placedPod) ghost(b mark, skew time.Duration) bool {
	return p.bound == unseen && (p.going.before(b, skew) == maybe || p.over.before(b, skew) == maybe)
}

// chosenBy tells whether something chooses the pod, whatever its labels were, or may.
func (p *placedPod) chosenBy(chooses func(labels map[string]string) bool) presence {
	yes := 0
	for _, labels := range p.labels {
		if chooses(labels) {
			yes++
		}
	}
	switch yes {
	case 0:
		return no
	case len(p.labels):
		return sure
	}
	return maybe
}

// nodePoint is what a node was from a moment on; nil: it was not there.
type nodePoint struct {
	mark
	node *history.Node
}

// placementLedger holds what a record tells of pods and nodes.
type placementLedger struct {
	pods  []*placedPod // in the order in which they were bound
	nodes map[string][]nodePoint
	names []string // of the nodes, sorted
}

func newPlacementLedger(run history.Run) *placementLedger {
	l := &placementLedger{nodes: make(map[string][]nodePoint)}
	pods := make(map[string]*placedPod) // by UID
	for _, e := range run.Events {
		switch {
		case e.Pod != nil:
			l.pod(pods, mark{at: e.T, name: e.Pod.UID}, e.Pod)
		case e.Node != nil:
			l.node(e.T, e.Node)
		}
	}
	l.names = slices.Sorted(maps.Keys(l.nodes))
	slices.SortStableFunc(l.pods, func(a, b *placedPod) int { return cmp.Or(a.bound.compare(b.bound), cmp.Compare(a.UID, b.UID)) })
	return l
}

func (l *placementLedger) pod(pods map[string]*placedPod, m mark, told *history.Pod) {
	p := pods[told.UID]
	first := p == nil
	if first {
		p = &placedPod{Pod: *told, bound: unseen, going: unseen, over: unseen}
		pods[told.UID] = p
		l.pods = append(l.pods, p)
	}
	if p.rules == nil && p.err == nil && told.Rules != nil {
		p.rulesText = string(told.Rules)
		p.rules, p.err = readRules(told.Rules, told.Namespace)
	}
	if !slices.ContainsFunc(p.labels, func(had map[string]string) bool { return maps.Equal(had, told.Labels) }) {
		p.labels = append(p.labels, told.Labels)
	}
	if p.bound == unseen && told.Node != "" {
		p.Pod, p.bound = *told, m
		p.early = first && told.Change != history.Added
		p.bySpec = first && told.Change == history.Added
	}
	gone := told.Change == history.Deleted || told.Ended()
	if p.over == unseen && gone {
		p.over = m
	}
	if p.going == unseen && (gone || told.Deleting) {
		p.going = m
	}
}

func (l *placementLedger) node(at history.Offset, told *history.Node) {
	m := mark{at: at} // before all that a pod was told to do in the same moment
	name := told.Name
	points := l.nodes[name]
	switch {
	case len(points) > 0:
	case told.Change == history.Added:
		points = append(points, nodePoint{mark: always})
	default:
		m = always // it was there before it was listed
	}
	if told.Change == history.Deleted {
		told = nil
	}
	l.nodes[name] = append(points, nodePoint{m, told})
}

// doubts a record that does not tell by what rules pods were placed.
func (l *placementLedger) doubts() (d doubts) {
	silent := false
	for _, p := range l.pods {
		switch {
		case p.err != nil:
			d.add("the rules by which %s is placed cannot be weighed: %s", p.Name, p.err)
		case p.rules == nil:
			silent = true
		}
	}
	if silent {
		d.add("the record does not say by which rules pods are placed")
	}
	return d
}
