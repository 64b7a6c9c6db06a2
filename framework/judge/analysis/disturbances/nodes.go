package disturbances

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/spread"
)

const (
	// afterwards is how long the pods of a node that was deleted may still be deleted because of that: the garbage collector of pods
	// looks every 20 s, and waits 40 s for a node that may come back.
	//
	// Source: quarantineTime and gcCheckPeriod in kubernetes pkg/controller/podgc/gc_controller.go
	afterwards = 2 * time.Minute
	// settling is how long the containers of a node that is back may still be restarted because of that.
	settling = 2 * time.Minute
	// inItsPlace is how far apart a node may be deleted and another one added that takes its place.
	inItsPlace = 30 * time.Minute
)

// story is what happened to a node, from when it could take no new pods until it could again.
type story struct {
	node     string
	from, to history.Offset // to is the end of the record if it was not over
	open     bool
	before   bool           // it had begun before the node was first reported
	closed   history.Moment // cordoned or tainted
	how      string         // "cordoned", "tainted"
	opened   history.Moment
	losses   []timeline.NodeLoss
	deleted  history.Moment
	upgrades []upgrade
	by       *timeline.Node // the node that took its place
	byAt     history.Offset
}

// upgrade is another version of a kubelet.
type upgrade struct {
	at      history.Offset
	was, is string
}

// conditionTaints are set by the node controller, and are not somebody's decision to take pods away.
//
// Source: https://kubernetes.io/docs/reference/labels-annotations-taints/
const conditionTaints = "node.kubernetes.io/"

// closedBy says how somebody closed a node to new pods; empty: nobody did. Taints that the node always had close it to nobody that could
// be there.
func closedBy(n *history.Node, always []string) string {
	if n.Unschedulable {
		return "cordoned"
	}
	for _, taint := range n.Taints {
		closes := strings.HasSuffix(taint, ":NoSchedule") || strings.HasSuffix(taint, ":NoExecute")
		if closes && !strings.HasPrefix(taint, conditionTaints) && !slices.Contains(always, taint) {
			return "tainted"
		}
	}
	return ""
}

// alwaysTainted are the taints in all reports of a node but that of its deletion.
func alwaysTainted(n *timeline.Node) []string {
	always := slices.Clone(n.Reports[0].Value.Taints)
	for _, r := range n.Reports {
		if r.Value.Change != history.Deleted {
			always = slices.DeleteFunc(always, func(taint string) bool { return !slices.Contains(r.Value.Taints, taint) })
		}
	}
	return always
}

// storiesOf are the stories of a node, in order. A new node has one only after it could take pods.
func (x *facts) storiesOf(n *timeline.Node) (list []*story) {
	var now *story
	always, usable, kubelet := alwaysTainted(n), false, ""
	for i, r := range n.Reports {
		seen, gone := r.Value, r.Value.Change == history.Deleted
		how := closedBy(seen, always)
		trouble := gone || timeline.Lost(seen) || how != ""
		before := i == 0 && seen.Change == history.Listed && !timeline.Lost(seen)
		if now == nil && trouble && (usable || before) {
			now = &story{node: n.Name, from: r.At, before: before}
			list = append(list, now)
		}
		if kubelet != "" && seen.Kubelet != "" && seen.Kubelet != kubelet && !gone {
			changed := upgrade{at: r.At, was: kubelet, is: seen.Kubelet}
			if now == nil {
				list = append(list, &story{node: n.Name, from: r.At, to: r.At, upgrades: []upgrade{changed}})
			} else {
				now.upgrades = append(now.upgrades, changed)
			}
		}
		kubelet, usable = cmp.Or(seen.Kubelet, kubelet), !trouble
		if now == nil {
			continue
		}
		now.follow(r.At, seen, how)
		if gone || !trouble {
			now.to = r.At
			now = nil
		}
	}
	if now != nil {
		now.to, now.open = x.end, true
	}
	return list
}

// follow takes in a report of the node.
func (s *story) follow(at history.Offset, n *history.Node, how string) {
	switch {
	case n.Change == history.Deleted:
		s.deleted = history.Moment{At: at, OK: true}
		return
	case how != "" && !s.closed.OK:
		s.closed, s.how = history.Moment{At: at, OK: true}, how
	case how == "" && s.closed.OK && !s.opened.OK:
		s.opened = history.Moment{At: at, OK: true}
	}
	lost := timeline.Lost(n)
	switch k := len(s.losses); {
	case lost && (k == 0 || s.losses[k-1].Back.OK):
		s.losses = append(s.losses, timeline.NodeLoss{Name: n.Name, At: at, Ready: n.Ready})
	case !lost && k > 0 && !s.losses[k-1].Back.OK:
		s.losses[k-1].Back = history.Moment{At: at, OK: true}
	}
}

// ofNodes are the disturbances of all nodes.
func (x *facts) ofNodes() (list []Disturbance) {
	var all []*story
	var added []*timeline.Node
	for _, name := range slices.Sorted(maps.Keys(x.nodes)) {
		n := x.nodes[name]
		all = append(all, x.storiesOf(n)...)
		if n.Reports[0].Value.Change == history.Added {
			added = append(added, n)
		}
	}
	slices.SortStableFunc(all, func(a, b *story) int { return cmp.Compare(a.from, b.from) })
	added = replace(all, added)
	for _, s := range all {
		list = append(list, x.ofStory(s))
	}
	for _, n := range added {
		at := n.Reports[0].At
		list = append(list, Disturbance{
			Kind: NodeAdded, Name: "the addition of node " + n.Name, From: at, Seen: at, Over: at, Told: at,
			Words: fmt.Sprintf("node %s was added at %s", n.Name, prose.Moment(at)),
		})
	}
	return list
}

// replace pairs each deleted node with the added one that is nearest in time, and returns the added nodes that are left.
func replace(all []*story, added []*timeline.Node) (rest []*timeline.Node) {
	slices.SortStableFunc(added, func(a, b *timeline.Node) int { return cmp.Compare(a.Reports[0].At, b.Reports[0].At) })
	for _, s := range all {
		if !s.deleted.OK {
			continue
		}
		best, apart := -1, inItsPlace+1
		for i, n := range added {
			if d := (n.Reports[0].At - s.deleted.At).Abs(); n.Name != s.node && d < apart {
				best, apart = i, d
			}
		}
		if best >= 0 {
			s.by, s.byAt = added[best], added[best].Reports[0].At
			added = slices.Delete(added, best, best+1)
		}
	}
	return added
}

// ofStory is what a story comes to.
func (x *facts) ofStory(s *story) Disturbance {
	to := s.to
	if s.deleted.OK {
		to += afterwards
	}
	gone := x.leftFrom(s.node, s.from-evidence.WatchSkew, to+evidence.WatchSkew, s.takes)
	again := x.restartedOn(s.node, s.from-evidence.WatchSkew, s.restartsUntil())
	d := Disturbance{From: s.from, Nodes: []string{s.node}, Pods: use(gone, again), Told: s.told()}
	loss, cut := x.worstLoss(s)
	switch {
	case loss != nil:
		d.Kind, d.Name = NodeLost, "the loss of node "+s.node
		d.From, d.Seen = max(0, min(s.from, loss.At-x.unnoticed(loss))), loss.At+1
	case len(d.Pods) > 0 && s.closed.OK:
		d.Kind, d.Name = Drain, "the drain of "+s.node
	case len(d.Pods) > 0: // it was lost just after its last pod had gone
		d.Kind, d.Name = NodeLost, "the loss of node "+s.node
	case s.deleted.OK:
		d.Kind, d.Name = NodeRemoved, "the removal of node "+s.node
	case len(s.losses) > 0:
		d.Kind, d.Name = NodeUnready, "the time in which node "+s.node+" was not Ready"
	case s.closed.OK:
		d.Kind, d.Name = Cordon, "the cordon of "+s.node
	default:
		d.Kind, d.Name = NodeUpgrade, "the upgrade of the kubelet of "+s.node
	}
	if s.before && len(d.Pods) > 0 && loss == nil {
		d.From = first(d.Pods)
	}
	d.Over = x.over(s, &d, loss, cut)
	d.Seen = max(d.Seen, d.From)
	if d.Seen == d.From && len(d.Pods) > 0 {
		d.Seen = min(last(d.Pods)+1, d.Over)
	}
	d.Words = s.words(&d, gone, again, len(cut))
	d.Pods = withCut(d.Pods, cut)
	return d
}

// withCut adds the pods of a lost node that did not end.
func withCut(pods, cut []Pod) []Pod {
	for _, p := range cut {
		if !slices.ContainsFunc(pods, func(had Pod) bool { return had.UID == p.UID }) {
			pods = append(pods, p)
		}
	}
	slices.SortStableFunc(pods, byMoment)
	return pods
}

// takes says whether a pod that left the node did so because of the story: not for a rollout or a scale-down, which happen anyway.
func (s *story) takes(d *departure) bool {
	switch d.cause {
	case spread.ByEviction, spread.ByTaintManager, spread.ByLostNode:
		return true
	case spread.ByDeletion, spread.ByUnknown:
		return s.closed.OK && d.At >= s.closed.At-evidence.WatchSkew || s.lostAt(d.At) || s.deleted.OK
	case spread.ByKubelet: // a node that is shut down ends its pods itself
		return slices.ContainsFunc(s.losses, func(l timeline.NodeLoss) bool { return d.At >= l.At-time.Minute })
	case spread.ByEnding:
		return s.lostAt(d.At)
	}
	return false
}

// lostAt says whether the node was lost at a moment, or had just been.
func (s *story) lostAt(at history.Offset) bool {
	return slices.ContainsFunc(s.losses, func(l timeline.NodeLoss) bool {
		return at >= l.At-evidence.WatchSkew && (!l.Back.OK || at <= l.Back.At+settling)
	})
}

// restartsUntil is until when restarts on the node belong to the story: only a lost node restarts containers.
func (s *story) restartsUntil() history.Offset {
	if len(s.losses) == 0 {
		return -1
	}
	return s.to + settling
}

// worstLoss is the first loss of the node, or its deletion, while recorded pods were on it that had not been told to end, and these pods;
// nil: none.
func (x *facts) worstLoss(s *story) (*timeline.NodeLoss, []Pod) {
	for i := range s.losses {
		if cut := x.on(s.node, s.losses[i].At); len(cut) > 0 {
			return &s.losses[i], cut
		}
	}
	if s.deleted.OK {
		if cut := x.on(s.node, s.deleted.At-1); len(cut) > 0 {
			return &timeline.NodeLoss{Name: s.node, At: s.deleted.At}, cut
		}
	}
	return nil, nil
}

// unnoticed is for how long a node may have been lost before it was reported so. A kubelet that says so itself is heard within its
// period; of one that is silent, the node controller waits out its grace period, which begins and ends up to one of its own periods late.
//
// Source: node-monitor-grace-period (50 s) and node-monitor-period (5 s) of kube-controller-manager, and nodeStatusUpdateFrequency
// (10 s) of the kubelet, with their defaults
func (x *facts) unnoticed(loss *timeline.NodeLoss) time.Duration {
	if loss.Ready == "Unknown" {
		return cmp.Or(x.timings.NodeMonitorGrace, 50*time.Second) + 2*cmp.Or(x.timings.NodeMonitorPeriod, 5*time.Second)
	}
	return cmp.Or(x.timings.NodeStatusUpdate, 10*time.Second) + cmp.Or(x.timings.NodeMonitorPeriod, 5*time.Second)
}

// over is from when a story did nothing more to the pods: the last of them had been told to end, or the lost node, on which some stayed, was
// back.
func (x *facts) over(s *story, d *Disturbance, loss *timeline.NodeLoss, cut []Pod) history.Offset {
	ended := s.from + 1
	for _, p := range d.Pods {
		ended = max(ended, p.At+1)
	}
	if loss == nil {
		return ended
	}
	wait := slices.ContainsFunc(withCut(slices.Clone(d.Pods), cut), func(p Pod) bool { return p.Stayed || p.Restarted })
	switch {
	case !wait:
		return max(ended, loss.At+1)
	case loss.Back.OK:
		return max(ended, loss.Back.At)
	}
	d.Open = true
	return x.end
}

// told is when the last part of the story was seen.
func (s *story) told() history.Offset {
	at := s.to
	if s.open {
		at = s.from
		for _, l := range s.losses {
			at = max(at, l.At, l.Back.At)
		}
	}
	return max(at, s.byAt)
}
