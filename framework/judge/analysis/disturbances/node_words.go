package disturbances

import (
	"fmt"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/spread"
)

// clause is a part of the words of a node, with its moment.
type clause struct {
	at    history.Offset
	words string
}

// words tell the story of a node, its clauses in the order of their moments.
func (s *story) words(d *Disturbance, gone []*departure, again []*restart, cut int) string {
	var list []clause
	add := func(at history.Offset, format string, args ...any) {
		i := len(list)
		for i > 0 && list[i-1].at > at {
			i--
		}
		list = append(list[:i], append([]clause{{at, fmt.Sprintf(format, args...)}}, list[i:]...)...)
	}
	switch {
	case s.closed.OK && s.before:
		add(s.closed.At, "%s before the record began", s.how)
	case s.closed.OK:
		add(s.closed.At, "%s at %s", s.how, prose.Moment(s.closed.At))
	}
	for _, l := range s.losses {
		add(l.At, "not Ready (%s) at %s", l.Ready, prose.Moment(l.At))
		if l.Back.OK {
			add(l.Back.At, "Ready again at %s", prose.Moment(l.Back.At))
		}
	}
	if s.deleted.OK {
		add(s.deleted.At, "deleted at %s", prose.Moment(s.deleted.At))
	}
	if cut > 0 {
		at := s.deleted.At
		if len(s.losses) > 0 {
			at = s.losses[0].At
		}
		add(at, "%s on it", prose.Count(cut, "recorded pod"))
	}
	for _, group := range byVerb(gone) {
		at := group.pods[len(group.pods)-1].At
		add(at, "%s %s until %s", prose.Count(len(group.pods), "pod"), group.verb, prose.Moment(at))
	}
	if n := len(again); n > 0 {
		add(again[n-1].At, "%s restarted until %s", prose.Count(n, "container"), prose.Moment(again[n-1].At))
	}
	for _, u := range s.upgrades {
		add(u.at, "its kubelet changed from %s to %s at %s", u.was, u.is, prose.Moment(u.at))
	}
	if s.opened.OK {
		undo := map[string]string{"cordoned": "uncordoned", "tainted": "taint removed"}
		add(s.opened.At, "%s at %s", undo[s.how], prose.Moment(s.opened.At))
	}
	if s.by != nil {
		add(s.byAt, "node %s was added at %s in its place", s.by.Name, prose.Moment(s.byAt))
	}
	texts := make([]string, len(list))
	for i, c := range list {
		texts[i] = c.words
	}
	return fmt.Sprintf("node %s %s: %s", s.node, s.verb(d.Kind), strings.Join(texts, ", "))
}

// verb is what happened to the node, in two words.
func (s *story) verb(k Kind) string {
	switch {
	case s.by != nil && k != NodeLost:
		return "was replaced"
	case k == NodeLost:
		return "was lost"
	case k == Drain:
		return "was drained"
	case k == NodeRemoved:
		return "was removed"
	case k == NodeUnready:
		return "was not Ready"
	case k == Cordon:
		return "was " + s.how
	}
	return "was upgraded"
}

// verbs say how pods ended, by the cause.
var verbs = map[spread.Cause]string{
	spread.ByEviction: "evicted", spread.ByTaintManager: "evicted by the taint manager", spread.ByLostNode: "deleted as the node was lost",
	spread.ByDeletion: "deleted", spread.ByUnknown: "deleted", spread.ByKubelet: "ended by the kubelet", spread.ByEnding: "failed",
	spread.ByPreemption: "preempted",
}

// verbGroup is the departures with one verb.
type verbGroup struct {
	verb string
	pods []*departure
}

// byVerb groups departures, in the order of the first of each group.
func byVerb(gone []*departure) (list []*verbGroup) {
	for _, d := range gone {
		verb := verbs[d.cause]
		i := 0
		for i < len(list) && list[i].verb != verb {
			i++
		}
		if i == len(list) {
			list = append(list, &verbGroup{verb: verb})
		}
		list[i].pods = append(list[i].pods, d)
	}
	return list
}
