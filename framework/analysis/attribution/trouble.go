package attribution

import (
	"slices"

	"github.com/holdfast-ha/holdfast/framework/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
)

// trouble is what was wrong with a pod at a moment.
type trouble struct {
	pod   *PodTimeline
	cause Cause
	phase PodPhase
	sure  bool // it is known to have been in the way of a request, and not only possible
	sent  sending
}

// sending is how likely a proxy still sent to a pod. The less, the likelier.
type sending int

const (
	offered   sending = iota // its endpoint was there
	following                // it had been until a moment before
	unlikely                 // it had been gone for longer than a proxy takes as a rule, or was not there yet
)

// ending tells whether the pod's own end is the trouble.
func (t trouble) ending() bool { return t.cause == CauseLateEndpoint || t.cause == CauseLateWithdrawal }

// troubleOf says what was wrong with a pod, as far as new connections go; not ok: nothing.
func (s *Timelines) troubleOf(l *PodTimeline, at history.Offset) (t trouble, ok bool) {
	lost, seen := s.nodeLost(l, at)
	switch {
	case l.Evicted.OK && l.Evicted.At <= at+evidence.WatchSkew: // first: to put a node under pressure, its kubelet is restarted
		return trouble{l, CausePressure, l.endPhase(at, PhaseEvicted), true, offered}, true
	case lost && seen:
		return trouble{l, CauseNodeLost, PhaseNodeLost, true, offered}, true
	case l.EndBegan() <= at+evidence.WatchSkew && l.Disruption == "DeletionByTaintManager" && s.wasLost(l.Node, at):
		return trouble{l, CauseNodeLost, PhaseNodeLost, true, offered}, true
	case l.EndBegan() <= at+evidence.WatchSkew:
		cause := CauseLateEndpoint
		if w := l.Withdrawn(at); w.OK && at-w.At > ProxyLag {
			cause = CauseLateWithdrawal
		}
		return trouble{l, cause, l.endPhase(at, PhaseDeleting), l.mayHaveClosed(at), offered}, true
	case l.downAt(at):
		return trouble{l, CauseRestart, PhaseRestarting, true, offered}, true
	case l.starting(at):
		return trouble{l, CauseReadyTooEarly, PhaseStarting, s.tooEarly(l), offered}, true
	case lost && !l.accepted.between(at, at+silent):
		return trouble{l, CauseNodeLost, PhaseNodeLost, true, offered}, true
	}
	return trouble{pod: l, phase: PhaseReady}, false
}

// sigterm is when SIGTERM was sent, as far as can be reckoned.
func (l *PodTimeline) sigterm() history.Moment {
	if l.Lifecycle == nil {
		return history.Moment{}
	}
	begin := l.Requested
	if l.Evicted.OK && (!begin.OK || l.Evicted.At < begin.At) {
		begin = l.Evicted
	}
	if !begin.OK {
		return history.Moment{}
	}
	sleeps := l.Lifecycle.PreStop
	if grace := l.Lifecycle.Grace; grace > 0 {
		sleeps = min(sleeps, grace)
	}
	return history.Moment{At: begin.At + sleeps, OK: true}
}

// mayHaveClosed tells whether a pod that ends may have stopped listening: not while its preStop sleep lasts, unless it has
// ended all the same.
func (l *PodTimeline) mayHaveClosed(at history.Offset) bool {
	term := l.sigterm()
	ended := l.Ended.OK && l.Ended.At <= at+evidence.WatchSkew || l.Gone.OK && l.Gone.At <= at+evidence.WatchSkew
	return !term.OK || at >= term.At-evidence.WatchSkew || ended
}

// endPhase is how far the end of a pod had come.
func (l *PodTimeline) endPhase(at history.Offset, first PodPhase) PodPhase {
	term, withdrawn := l.sigterm(), l.Withdrawn(at)
	switch {
	case l.Ended.OK && l.Ended.At <= at || l.Gone.OK && l.Gone.At <= at:
		return PhaseGone
	case term.OK && term.At <= at:
		return PhaseSIGTERM
	case withdrawn.OK && withdrawn.At <= at && withdrawn.At >= l.EndBegan():
		return PhaseRemoved
	}
	return first
}

func (l *PodTimeline) downAt(at history.Offset) bool {
	return slices.ContainsFunc(l.Downtimes, func(d timeline.Downtime) bool {
		return d.From-evidence.WatchSkew <= at && at-evidence.WatchSkew <= d.To
	})
}

// starting tells whether nobody had been answered by the pod yet.
func (l *PodTimeline) starting(at history.Offset) bool {
	return !l.firstAnswer.OK || at < l.firstAnswer.At
}

// tooEarly tells whether a pod is known to have been offered before it listened: nobody asked it whether it is ready, and it
// answered late, or never.
func (s *Timelines) tooEarly(l *PodTimeline) bool {
	if s.probed[l.template()] || !l.Offered.OK {
		return false
	}
	if !l.firstAnswer.OK {
		return true
	}
	return l.firstAnswer.At-l.Offered.At > lateStart && l.firstAnswer.At-s.from > answerStep // nobody asked before
}

// attribution of troubles with the same cause; who it was is told only when it is the only one.
func attribution(cause Cause, confidence Confidence, list []trouble) Attribution {
	a := Attribution{Cause: cause, Confidence: confidence, Phase: list[0].phase, Among: whom(list)}
	if l := list[0].pod; len(list) == 1 {
		a.Pod, a.Node, a.Zone, a.Revision = l.Name, l.Node, l.zone, l.Revision
	}
	return a
}

func whom(list []trouble) (among []PodOn) {
	for _, t := range list {
		among = append(among, PodOn{t.pod.Name, t.pod.Node})
	}
	return among
}

// prefer drops what is not liked, unless that is all.
func prefer(list []trouble, like func(trouble) bool) []trouble {
	liked := slices.DeleteFunc(slices.Clone(list), func(t trouble) bool { return !like(t) })
	if len(liked) == 0 {
		return list
	}
	return liked
}

// shows tells whether a trouble can show in such an outcome. Where nobody listens a connection is refused for as long as the
// pod's network is there, and then times out; on a lost node it times out, but for the moment of its death.
func (s *Timelines) shows(o history.Outcome, t trouble, at history.Offset) bool {
	gone := t.phase == PhaseGone || t.pod.Ended.OK && t.pod.Ended.At <= at+evidence.WatchSkew
	switch o {
	case history.Refused:
		return t.phase != PhaseGone
	case history.TimeoutConnect, history.Unreachable:
		return t.cause == CauseNodeLost || gone
	}
	return true
}

// dying tells whether a fault was taking the node at the moment: its witness had not seen it dead yet.
func (s *Timelines) dying(node string, at history.Offset) bool {
	return slices.ContainsFunc(s.facts.Faults, func(f history.FaultLife) bool {
		return slices.Contains(f.Nodes, node) && f.Injecting.At <= at && (!f.Seen.OK || at <= f.Seen.At)
	})
}

// most is the cause of most, the one that is named first in the vocabulary where two are equal.
func most(list []trouble) (best Cause) {
	counts := make(map[Cause]int)
	for _, t := range list {
		counts[t.cause]++
	}
	for _, c := range causes {
		if counts[c.cause] > counts[best] {
			best = c.cause
		}
	}
	return best
}
