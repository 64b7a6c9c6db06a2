package invariant

import (
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

const (
	// proxyLag is how long after an EndpointSlice a proxy may go on sending to what it had before, on a usual machine.
	proxyLag = PropagationSlack
	// proxyLagAtMost is the same on one that is starved: it explains a failure only where nothing else does.
	proxyLagAtMost = 10 * time.Second
	// lateStart is how long after it was first offered a pod that listens has had its first connection at the latest.
	lateStart = 1500 * time.Millisecond
	// dropsWithin is how long after SIGTERM a server that drops what is in flight has done so. Ours waits up to a second for
	// something to drop.
	dropsWithin = 2500 * time.Millisecond
	// silent is how long nothing must be heard of a pod on a node that a fault bit, before it is thought to be lost with it,
	// though nobody has said that the node was not ready.
	silent = 2 * time.Second
	// returning is how long a node that is ready again may yet lead nowhere: its proxy and its pods start after its kubelet.
	returning = 10 * time.Second
)

// trouble is what was wrong with a pod at a moment.
type trouble struct {
	life  *life
	cause Cause
	phase PodPhase
	sure  bool // it is known to have been in the way of a request, and not only possible
}

// ending tells whether the pod's own end is the trouble.
func (t trouble) ending() bool { return t.cause == CauseLateEndpoint || t.cause == CauseLateWithdrawal }

// troubleOf says what was wrong with a pod, as far as new connections go; not ok: nothing.
func (s *lives) troubleOf(l *life, at history.Offset) (t trouble, ok bool) {
	lost, seen := s.nodeLost(l, at)
	switch {
	case l.evicting.OK && l.evicting.At <= at+watchSkew: // first: to put a node under pressure, its kubelet is restarted
		return trouble{l, CausePressure, l.endPhase(at, PhaseEvicted), true}, true
	case lost && seen:
		return trouble{l, CauseNodeLost, PhaseNodeLost, true}, true
	case l.ends() <= at+watchSkew && l.disruption == "DeletionByTaintManager" && s.wasLost(l.node, at):
		return trouble{l, CauseNodeLost, PhaseNodeLost, true}, true
	case l.ends() <= at+watchSkew:
		cause := CauseLateEndpoint
		if l.sleptLongEnough() {
			cause = CauseLateWithdrawal
		}
		return trouble{l, cause, l.endPhase(at, PhaseDeleting), l.mayHaveClosed(at)}, true
	case l.downAt(at):
		return trouble{l, CauseRestart, PhaseRestarting, true}, true
	case l.starting(at):
		return trouble{l, CauseReadyTooEarly, PhaseStarting, s.tooEarly(l)}, true
	case lost && !l.accepted.between(at, at+silent):
		return trouble{l, CauseNodeLost, PhaseNodeLost, true}, true
	}
	return trouble{life: l, phase: PhaseReady}, false
}

// sleptLongEnough tells whether a pod that was deleted went on listening, in its preStop sleep, for as long as proxies need on a
// usual machine.
func (l *life) sleptLongEnough() bool {
	if l.lifecycle == nil || l.lifecycle.PreStop < proxyLag || !l.deleted.OK {
		return false
	}
	cut := func(m history.Moment) bool { return m.OK && m.At < l.deleted.At+l.lifecycle.PreStop-watchSkew }
	return !cut(l.ended) && !cut(l.gone)
}

// ends is when the pod's end began; never if it did not.
func (l *life) ends() history.Offset {
	first := never
	for _, m := range []history.Moment{l.deleted, l.ended, l.gone} {
		if m.OK {
			first = min(first, m.At)
		}
	}
	return first
}

// sigterm is when SIGTERM was sent, as far as can be reckoned.
func (l *life) sigterm() history.Moment {
	if l.lifecycle == nil {
		return history.Moment{}
	}
	begin := l.deleted
	if l.evicting.OK && (!begin.OK || l.evicting.At < begin.At) {
		begin = l.evicting
	}
	if !begin.OK {
		return history.Moment{}
	}
	sleeps := l.lifecycle.PreStop
	if grace := l.lifecycle.Grace; grace > 0 {
		sleeps = min(sleeps, grace)
	}
	return history.Moment{At: begin.At + sleeps, OK: true}
}

// mayHaveClosed tells whether a pod that ends may have stopped listening: not while its preStop sleep lasts, unless it has
// ended all the same.
func (l *life) mayHaveClosed(at history.Offset) bool {
	term := l.sigterm()
	ended := l.ended.OK && l.ended.At <= at+watchSkew || l.gone.OK && l.gone.At <= at+watchSkew
	return !term.OK || at >= term.At-watchSkew || ended
}

// endPhase is how far the end of a pod had come.
func (l *life) endPhase(at history.Offset, first PodPhase) PodPhase {
	term, withdrawn := l.sigterm(), l.withdrawn(at)
	switch {
	case l.ended.OK && l.ended.At <= at || l.gone.OK && l.gone.At <= at:
		return PhaseGone
	case term.OK && term.At <= at:
		return PhaseSIGTERM
	case withdrawn.OK && withdrawn.At <= at && withdrawn.At >= l.ends():
		return PhaseRemoved
	}
	return first
}

func (l *life) downAt(at history.Offset) bool {
	return slices.ContainsFunc(l.downs, func(d downtime) bool { return d.from-watchSkew <= at && at-watchSkew <= d.to })
}

// starting tells whether nobody had been answered by the pod yet.
func (l *life) starting(at history.Offset) bool { return !l.firstAnswer.OK || at < l.firstAnswer.At }

// tooEarly tells whether a pod is known to have been offered before it listened: nobody asked it whether it is ready, and it
// answered late, or never.
func (s *lives) tooEarly(l *life) bool {
	if s.probed[l.kin()] || !l.firstOffer.OK {
		return false
	}
	if !l.firstAnswer.OK {
		return true
	}
	return l.firstAnswer.At-l.firstOffer.At > lateStart && l.firstAnswer.At-s.from > answerStep // nobody asked before
}

// findTarget finds the Services whose pods answered; where nobody answered, those that carry a workload's name. Behind one of
// the others is the gateway, if there is one.
func (s *lives) findTarget() {
	s.target, s.entry = nil, nil
	for name, members := range s.services {
		for l := range members {
			if l.firstAnswer.OK {
				s.target = append(s.target, name)
				break
			}
		}
	}
	for _, e := range s.facts.run.Events {
		if len(s.target) > 0 {
			break
		}
		if e.Workload != nil && s.services[e.Workload.Name] != nil {
			s.target = []string{e.Workload.Name}
		}
	}
	for name := range s.services {
		if !slices.Contains(s.target, name) {
			s.entry = append(s.entry, name)
		}
	}
	slices.Sort(s.target)
	slices.Sort(s.entry)
}

// around is how the endpoints of the target were at a moment.
type around struct {
	fine     int       // could have answered, as far as is known
	troubled []trouble // could not, or may not have been able to
	entry    bool      // they are a gateway's own
}

// look sorts whom the proxies may have sent to by what was wrong with them. A pod that took connections shortly before and
// after is fine, unless all are suspected.
func (s *lives) look(services []string, at history.Offset, lag time.Duration, suspectAll bool) (a around) {
	for _, service := range services {
		entry := slices.Contains(s.entry, service)
		a.entry = a.entry || entry
		lives := s.sorted(service)
		ready := func(o offer) bool { return o.ready }
		if !slices.ContainsFunc(lives, func(l *life) bool { return l.offeredBetween(service, at, at, ready) }) {
			ready = func(o offer) bool { return o.ready || o.serving }
		}
		for _, l := range lives {
			if !l.offeredBetween(service, at-lag, at+watchSkew, ready) {
				continue
			}
			t, bad := s.troubleOf(l, at)
			bad = bad && (!entry || t.cause != CauseReadyTooEarly) // a gateway does not say which of its pods answers
			switch {
			case !suspectAll && (l.accepted.listened(at) || entry && s.gateway.listened(at)):
				a.fine++
			case bad:
				a.troubled = append(a.troubled, t)
			case l.firstOffer.At <= at-proxyLag:
				a.fine++
			}
		}
	}
	return a
}

func (s *lives) sorted(service string) []*life {
	if s.order == nil {
		s.order = make(map[string][]*life)
	}
	if list, done := s.order[service]; done {
		return list
	}
	var list []*life
	for _, l := range s.all {
		if s.services[service][l] {
			list = append(list, l)
		}
	}
	s.order[service] = list
	return list
}

// attribute finds the cause of the failed requests of a kind.
func (s *lives) attribute(kind shot, at history.Offset) Attribution {
	switch {
	case kind.pod != "":
		if l := s.named(kind.pod, at); l != nil {
			return s.known(kind, l, at)
		}
		return Attribution{Cause: CauseUnknown, Confidence: ConfidenceSeen, Pod: kind.pod}
	case s.facts.blind(at):
		return nobody() // something else may have been the case
	case s.gateways[kind.lane] && kind.status >= 500:
		return s.upstream(kind, at)
	}
	return s.unknownPod(kind, at)
}

func nobody() Attribution { return Attribution{Cause: CauseUnknown, Confidence: ConfidenceNone} }

// known attributes what went to a pod that is known.
func (s *lives) known(kind shot, l *life, at history.Offset) Attribution {
	a := Attribution{Cause: CauseSlow, Confidence: ConfidenceSeen, Phase: PhaseReady, Pod: l.name, Node: l.node, Zone: l.zone, Revision: l.revision}
	if kind.inferred {
		a.Confidence = ConfidenceConnection
	}
	t, bad := s.troubleOf(l, at)
	if bad && t.cause == CauseReadyTooEarly && kind.outcome != history.Refused {
		bad = false // it took a connection
	}
	if bad {
		a.Phase = t.phase
	}
	switch {
	case answeredWrongly(kind.outcome) && kind.outcome != history.Stall:
		a.Cause = CauseBadAnswer
	case bad && t.cause == CauseNodeLost && kind.inferred:
		a.Cause = CauseNodeLostConnection
	case bad && t.ending() && cut(kind.outcome):
		a.Cause = l.cutBy(at)
	case bad:
		a.Cause = t.cause
	case cut(kind.outcome), kind.outcome == history.Refused:
		a.Cause = CauseCutWhileReady
	}
	return a
}

// cut tells whether a connection ended under a request.
func cut(o history.Outcome) bool {
	switch o {
	case history.Reset, history.ClosedEarly, history.Truncated, history.GoAway, history.Masked, history.Other:
		return true
	}
	return false
}

// cutBy tells a server that drops what is in flight at SIGTERM from one that serves on and takes its connections along.
func (l *life) cutBy(at history.Offset) Cause {
	switch term := l.sigterm(); {
	case !term.OK:
		return CauseCutWhileEnding
	case at <= term.At+dropsWithin:
		return CauseCutAtSIGTERM
	}
	return CauseCutAtEnd
}

// unknownPod attributes a new connection that may have gone to any of the endpoints.
func (s *lives) unknownPod(kind shot, at history.Offset) Attribution {
	services := s.target
	if s.gateways[kind.lane] {
		services = s.entry
	}
	for _, try := range []struct {
		lag        time.Duration
		suspectAll bool
	}{{proxyLag, false}, {proxyLagAtMost, false}, {proxyLag, true}} {
		if found, ok := s.choose(kind, at, s.look(services, at, try.lag, try.suspectAll)); ok {
			if try.lag > proxyLag && found.Cause == CauseLateEndpoint {
				found.Cause = CauseLateWithdrawal
			}
			return found
		}
	}
	if kind.outcome == history.TimeoutConnect || kind.outcome == history.TimeoutResponse || kind.outcome == history.Stall {
		return Attribution{Cause: CauseSlow, Confidence: ConfidenceNone}
	}
	return nobody()
}

// choose takes the cause that most of the pods in trouble have, of those that can show in such a way.
func (s *lives) choose(kind shot, at history.Offset, a around) (Attribution, bool) {
	if a.fine == 0 && !a.entry {
		if found, ok := s.outage(at, a.troubled); ok {
			return found, true
		}
	}
	list := slices.DeleteFunc(slices.Clone(a.troubled), func(t trouble) bool {
		return !t.sure || kind.outcome == history.Refused && t.cause == CauseNodeLost && !s.dying(t.life.node, at)
	})
	list = prefer(list, func(t trouble) bool { return s.shows(kind.outcome, t, at) })
	if len(list) == 0 {
		return Attribution{}, false
	}
	cause := most(list)
	list = slices.DeleteFunc(slices.Clone(list), func(t trouble) bool { return t.cause != cause })
	confidence := ConfidenceOneOf
	switch {
	case a.fine == 0:
		confidence = ConfidenceAll
	case len(list) == 1:
		confidence = ConfidenceOnly
	}
	return list[0].attribution(cause, confidence, len(list) == 1), true
}

// attribution of a trouble; who it was is told only when it is the only one.
func (t trouble) attribution(cause Cause, confidence Confidence, only bool) Attribution {
	a := Attribution{Cause: cause, Confidence: confidence, Phase: t.phase}
	if l := t.life; only {
		a.Pod, a.Node, a.Zone, a.Revision = l.name, l.node, l.zone, l.revision
	}
	return a
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
func (s *lives) shows(o history.Outcome, t trouble, at history.Offset) bool {
	gone := t.phase == PhaseGone || t.life.ended.OK && t.life.ended.At <= at+watchSkew
	switch o {
	case history.Refused:
		return t.phase != PhaseGone
	case history.TimeoutConnect, history.Unreachable:
		return t.cause == CauseNodeLost || gone
	}
	return true
}

// dying tells whether a fault was taking the node at the moment: its witness had not seen it dead yet.
func (s *lives) dying(node string, at history.Offset) bool {
	return slices.ContainsFunc(s.facts.faults, func(f history.FaultLife) bool {
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

// outage attributes a failure at a time when nobody could have answered, because all had ended or were out of reach. Pods
// that are starting, or start again, are no outage: they would answer if nobody had sent to them yet.
func (s *lives) outage(at history.Offset, all []trouble) (Attribution, bool) {
	gone := slices.DeleteFunc(slices.Clone(all), func(t trouble) bool {
		return t.cause == CauseReadyTooEarly && !t.sure // just there, and the proxies do not know it
	})
	if slices.ContainsFunc(gone, func(t trouble) bool { return outageBy(t) == "" }) {
		return Attribution{}, false
	}
	if len(gone) == 0 {
		gone = s.lastTaken(at)
	}
	if len(gone) == 0 {
		return Attribution{}, false
	}
	counts := make(map[Cause]int)
	for _, t := range gone {
		counts[outageBy(t)]++
	}
	var best Cause
	for _, c := range causes {
		if counts[c.cause] > counts[best] {
			best = c.cause
		}
	}
	i := slices.IndexFunc(gone, func(t trouble) bool { return outageBy(t) == best })
	return gone[i].attribution(best, ConfidenceAll, len(gone) == 1), true
}

// outageBy is the outage that a trouble is a part of; empty if it makes none.
func outageBy(t trouble) Cause {
	switch {
	case t.cause == CauseNodeLost:
		return CauseOutageNodeLost
	case t.cause == CausePressure:
		return CauseOutagePressure
	case t.ending() && t.life.disruption == "EvictionByEvictionAPI":
		return CauseOutageEviction
	case t.ending():
		return CauseOutageDeletion
	}
	return ""
}

// lastTaken are the pods that were offered last, and what took them.
func (s *lives) lastTaken(at history.Offset) (list []trouble) {
	var last history.Offset
	for _, service := range s.target {
		for _, l := range s.sorted(service) {
			if w := l.withdrawn(at + watchSkew); w.OK && l.firstAnswer.OK {
				last = max(last, w.At)
			}
		}
	}
	for _, service := range s.target {
		for _, l := range s.sorted(service) {
			w := l.withdrawn(at + watchSkew)
			if !w.OK || !l.firstAnswer.OK || w.At < last-proxyLag {
				continue
			}
			if t, bad := s.troubleOf(l, at); bad && outageBy(t) != "" {
				list = append(list, t)
			}
		}
	}
	return list
}

// upstream attributes an error of the gateway's own.
func (s *lives) upstream(kind shot, at history.Offset) Attribution {
	a := s.look(s.target, at, proxyLag, false)
	if a.fine == 0 {
		if found, ok := s.outage(at, a.troubled); ok {
			return found
		}
		if found, ok := s.choose(kind, at, a); ok {
			return found
		}
		return nobody()
	}
	if lost := s.lostAt(at); len(lost) > 0 {
		found := Attribution{Cause: CauseDeadUpstream, Confidence: ConfidenceOneOf, Phase: PhaseNodeLost}
		if len(lost) == 1 {
			found.Confidence, found.Node = ConfidenceOnly, lost[0]
		}
		return found
	}
	if empty := s.emptyAt(at); len(empty) > 0 {
		found := Attribution{Cause: CauseEmptyUpstream, Confidence: ConfidenceOneOf}
		if len(empty) == 1 {
			found.Confidence, found.Node = ConfidenceOnly, empty[0]
		}
		return found
	}
	if found, ok := s.choose(shot{}, at, around{fine: a.fine, troubled: a.troubled}); ok {
		return found
	}
	if kind.status == 504 {
		return Attribution{Cause: CauseSlow, Confidence: ConfidenceNone}
	}
	return nobody()
}

// lostAt are the nodes that were away.
func (s *lives) lostAt(at history.Offset) (names []string) {
	for _, n := range s.lost {
		if n.seen && n.from <= at && at <= n.until() && !slices.Contains(names, n.node) {
			names = append(names, n.node)
		}
	}
	return names
}

// until is when the node may have been of use again.
func (n lostNode) until() history.Offset {
	if n.to == never {
		return never
	}
	return n.to + returning
}

// emptyAt are the nodes that had had a ready endpoint and had none now, or none that is known to everybody yet.
func (s *lives) emptyAt(at history.Offset) (names []string) {
	full := make(map[string]bool)
	ready := func(o offer) bool { return o.ready }
	for _, service := range s.target {
		for _, l := range s.sorted(service) {
			switch {
			case l.offeredBetween(service, at, at, ready) && l.offeredBetween(service, at-lateStart, at-lateStart, ready):
				full[l.node] = true
			case l.firstOffer.OK && l.firstOffer.At <= at && l.node != "" && !slices.Contains(names, l.node):
				names = append(names, l.node)
			}
		}
	}
	return slices.DeleteFunc(names, func(n string) bool { return full[n] })
}
