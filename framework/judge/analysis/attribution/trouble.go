package attribution

import (
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
)

// trouble is what was wrong with a pod at a moment.
type trouble struct {
	pod   *PodTimeline
	cause Cause
	phase PodPhase
	sure  bool // the trouble is known to prevent answers; false: it may
	sent  sending
}

// sending is how likely a proxy still sent requests to a pod. The smaller, the likelier.
type sending int

const (
	offered   sending = iota // its endpoint was ready
	following                // its endpoint had been ready until shortly before
	unlikely                 // its endpoint was withdrawn for longer than a proxy usually takes, or not yet ready
)

// ending reports whether the trouble is that the pod terminates.
func (t trouble) ending() bool { return t.cause == CauseLateEndpoint || t.cause == CauseLateWithdrawal }

// troubleOf is what prevented a pod from accepting new connections; not ok: nothing did.
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
		return trouble{l, cause, l.endPhase(at, PhaseDeleting), s.mayHaveClosed(l, at), offered}, true
	case l.downAt(at):
		return trouble{l, CauseRestart, PhaseRestarting, true, offered}, true
	case l.starting(at):
		return trouble{l, CauseReadyTooEarly, PhaseStarting, s.tooEarly(l), offered}, true
	case lost && !l.accepted.between(at, at+silent):
		return trouble{l, CauseNodeLost, PhaseNodeLost, true, offered}, true
	}
	return trouble{pod: l, phase: PhaseReady}, false
}

// sigterm is when SIGTERM was sent to the container that Services send requests to, calculated from the pod's lifecycle; not OK: unknown.
func (l *PodTimeline) sigterm() history.Moment {
	if l.Lifecycle == nil {
		return history.Moment{}
	}
	return l.told(l.preStop())
}

// told is when a container whose preStop hook sleeps for so long was told to end; not OK: unknown.
func (l *PodTimeline) told(sleeps time.Duration) history.Moment {
	begin := l.Requested
	if l.Evicted.OK && (!begin.OK || l.Evicted.At < begin.At) {
		begin = l.Evicted
	}
	if !begin.OK {
		return history.Moment{}
	}
	if grace := l.Lifecycle.Grace; grace > 0 {
		sleeps = min(sleeps, grace)
	}
	return history.Moment{At: begin.At + sleeps, OK: true}
}

// mayHaveClosed reports whether a terminating pod may have stopped listening: not during its preStop sleep, unless it has
// ended already. The sleep began no earlier than the watches were late to show the deletion.
func (s *Timelines) mayHaveClosed(l *PodTimeline, at history.Offset) bool {
	term := l.sigterm()
	return !term.OK || at >= term.At-s.facts.Noise.Lateness() || l.endedBy(at+evidence.WatchSkew)
}

// endedBy reports whether a pod had ended by a moment.
func (l *PodTimeline) endedBy(at history.Offset) bool {
	return l.Ended.OK && l.Ended.At <= at || l.Gone.OK && l.Gone.At <= at
}

// endPhase is how far the termination of a pod had come.
func (l *PodTimeline) endPhase(at history.Offset, first PodPhase) PodPhase {
	term, withdrawn := l.sigterm(), l.Withdrawn(at)
	switch {
	case l.endedBy(at):
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

// starting reports whether the pod had not answered any request yet.
func (l *PodTimeline) starting(at history.Offset) bool {
	return !l.firstAnswer.OK || at < l.firstAnswer.At
}

// tooEarly reports whether a pod is known to have been a ready endpoint before it listened: it has no readiness probe, and
// answered late, or never.
func (s *Timelines) tooEarly(l *PodTimeline) bool {
	if s.probed[l.template()] || !l.Offered.OK {
		return false
	}
	if !l.firstAnswer.OK { // behind node ports and fronts, no answer names any pod of the workload
		return s.named[ownerOf(l.Pod)]
	}
	return l.firstAnswer.At-l.Offered.At > lateStart && l.firstAnswer.At-s.from > answerStep // it got no requests before
}

// attribution attributes failures to troubles with the same cause. It names the pod only if there is one trouble.
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

// prefer keeps the troubles for which like returns true; all of them if there is none.
func prefer(list []trouble, like func(trouble) bool) []trouble {
	liked := slices.DeleteFunc(slices.Clone(list), func(t trouble) bool { return !like(t) })
	if len(liked) == 0 {
		return list
	}
	return liked
}

// shows reports whether a trouble can cause an outcome. If no process listens, a connection is refused while the pod's network
// namespace exists, and times out afterwards. On a lost node it times out, except at the moment of the loss.
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

// canRefuse reports whether a connection to a pod can be refused, rather than time out: its node is there to answer, and the pod
// did not end so long ago that its network namespace is certainly gone.
func (s *Timelines) canRefuse(t trouble, at history.Offset) bool {
	if t.cause == CauseNodeLost {
		return s.dying(t.pod.Node, at)
	}
	return !t.pod.Ended.OK || at < t.pod.Ended.At+evidence.WatchSkew
}

// heard leaves those pods of a look that can have answered, if a failed request has an answer: bad, or cut off. Pods that have ended, do not listen
// yet, or are on a lost node give none. One that was told to end was still there: that is then not why it fails, but how it answers.
func (s *Timelines) heard(kind FailureGroup, at history.Offset, a around) around {
	if kind.Outcome == history.Stall || !answeredWrongly(kind.Outcome) {
		return a
	}
	var able []trouble
	for _, t := range a.troubled {
		finer := s.finer(t.cause, t.pod, a.services, at)
		switch {
		case t.phase == PhaseGone, t.cause == CauseNodeLost && !s.dying(t.pod.Node, at):
			continue
		case finer == CauseForeignPod, finer == CauseOfferedUnready: // which answer in their own way
		case t.cause == CauseReadyTooEarly:
			continue
		case t.ending() && kind.Outcome == history.Truncated:
			t.cause = t.pod.cutBy(at)
		case t.ending():
			t.cause = s.wrongAnswer(t.pod, true, at)
		}
		able = append(able, t)
	}
	a.troubled, a.fine = able, max(a.fine, 1) // what answered was there
	return a
}

// dying reports whether a fault was taking the node away at the moment: the fault's witness had not seen the node lost yet.
func (s *Timelines) dying(node string, at history.Offset) bool {
	return slices.ContainsFunc(s.facts.Faults, func(f timeline.FaultLife) bool {
		return slices.Contains(f.Nodes, node) && f.Injecting.At <= at && (!f.Seen.OK || at <= f.Seen.At)
	})
}

// most is the most frequent cause; of equally frequent ones, the first in the vocabulary.
func most(list []trouble) Cause {
	counts := make(map[Cause]int)
	for _, t := range list {
		counts[t.cause]++
	}
	return mostOf(counts)
}

func mostOf(counts map[Cause]int) (best Cause) {
	for _, c := range causes {
		if counts[c.cause] > counts[best] {
			best = c.cause
		}
	}
	return best
}
