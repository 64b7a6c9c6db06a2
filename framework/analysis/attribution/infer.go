package attribution

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
)

const (
	// ProxyLag is how long after an EndpointSlice a proxy may go on sending to what it had before, on a usual machine.
	ProxyLag = evidence.PropagationSlack
	// ProxyLagAtMost is the same on one that is starved: it explains a failure only where nothing else does.
	ProxyLagAtMost = 10 * time.Second
	// lateStart is how long after it was first offered a pod that listens has had its first connection at the latest.
	lateStart = 1500 * time.Millisecond
	// dropsWithin is how long after SIGTERM a server that drops what is in flight has done so. Ours waits up to a second for
	// something to drop. Where SIGKILL comes sooner, what is nearer to that is its doing.
	dropsWithin = 2500 * time.Millisecond
	// leastGrace is what a kubelet leaves a container after its preStop hook, even if that has used up the grace period.
	//
	// Source: minimumGracePeriodInSeconds in kubernetes pkg/kubelet/kuberuntime/kuberuntime_container.go
	leastGrace = 2 * time.Second
	// proxyUsual is how long a proxy takes as a rule: two syncs are at least a second apart.
	proxyUsual = time.Second
	// silent is how long nothing must be heard of a pod on a node that a fault bit, before it is thought to be lost with it,
	// though nobody has said that the node was not ready.
	silent = 2 * time.Second
	// returning is how long a node that is ready again may yet lead nowhere: its proxy and its pods start after its kubelet.
	returning = 10 * time.Second
)

// findTarget finds the Services whose pods answered; where nobody answered, those that carry a workload's name. Behind one of
// the others is the gateway, if there is one.
func (s *Timelines) findTarget() {
	s.target, s.entry = nil, nil
	for name, members := range s.objects.Services {
		for _, p := range members {
			if s.pods[p.Index].firstAnswer.OK {
				s.target = append(s.target, name)
				break
			}
		}
	}
	for _, e := range s.facts.Record.Events {
		if len(s.target) > 0 {
			break
		}
		if e.Workload != nil && s.hasService(e.Workload.Name) {
			s.target = []string{e.Workload.Name}
		}
	}
	for name := range s.objects.Services {
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
func (s *Timelines) look(services []string, at history.Offset, lag time.Duration, suspectAll bool) (a around) {
	for _, service := range services {
		entry := slices.Contains(s.entry, service)
		a.entry = a.entry || entry
		pods := s.Sorted(service)
		ready := func(o timeline.Endpoint) bool { return o.Ready }
		if !slices.ContainsFunc(pods, func(l *PodTimeline) bool { return l.OfferedBetween(service, at, at, ready) }) {
			ready = func(o timeline.Endpoint) bool { return o.Ready || o.Serving }
		}
		for _, l := range pods {
			if !l.OfferedBetween(service, at-lag, at+evidence.WatchSkew, ready) {
				continue
			}
			t, bad := s.troubleOf(l, at)
			bad = bad && (!entry || t.cause != CauseReadyTooEarly) // a gateway does not say which of its pods answers
			switch {
			case !suspectAll && (l.accepted.listened(at) || entry && s.gateway.listened(at)):
				a.fine++
			case bad:
				switch {
				case l.OfferedBetween(service, at, at, ready):
				case l.OfferedBetween(service, at-proxyUsual, at, ready):
					t.sent = following
				default:
					t.sent = unlikely
				}
				a.troubled = append(a.troubled, t)
			case l.Offered.At <= at-ProxyLag:
				a.fine++
			}
		}
	}
	return a
}

// hasService reports whether the record has an EndpointSlice of a Service.
func (s *Timelines) hasService(name string) bool {
	_, ok := s.objects.Services[name]
	return ok
}

// Sorted lists the pods that were endpoints of a Service, in the order of their first reports.
func (s *Timelines) Sorted(service string) []*PodTimeline {
	if list, done := s.order[service]; done {
		return list
	}
	if s.order == nil {
		s.order = make(map[string][]*PodTimeline)
	}
	var list []*PodTimeline
	for _, p := range s.objects.Services[service] {
		list = append(list, s.pods[p.Index])
	}
	s.order[service] = list
	return list
}

// attribute finds the cause of the failed requests of a kind.
func (s *Timelines) attribute(kind FailureGroup, at history.Offset) Attribution {
	switch {
	case kind.pod != "":
		if l := s.Named(kind.pod, at); l != nil {
			return s.known(kind, l, at)
		}
		return Attribution{Cause: CauseUnknown, Confidence: ConfidenceSeen, Pod: kind.pod, Among: []PodOn{{Pod: kind.pod, Node: kind.node}}}
	case s.facts.Blind(at):
		return nobody() // something else may have been the case
	case s.Gateways[kind.Lane] && kind.status >= 500:
		return s.upstream(kind, at)
	}
	return s.unknownPod(kind, at)
}

func nobody() Attribution { return Attribution{Cause: CauseUnknown, Confidence: ConfidenceNone} }

// known attributes what went to a pod that is known.
func (s *Timelines) known(kind FailureGroup, l *PodTimeline, at history.Offset) Attribution {
	a := Attribution{
		Cause: CauseSlow, Confidence: ConfidenceSeen, Phase: PhaseReady,
		Pod: l.Name, Node: l.Node, Zone: l.zone, Revision: l.Revision, Among: []PodOn{{Pod: l.Name, Node: l.Node}},
	}
	if kind.inferred {
		a.Confidence = ConfidenceConnection
	}
	t, bad := s.troubleOf(l, at)
	if bad && t.cause == CauseReadyTooEarly && kind.Outcome != history.Refused {
		bad = false // it took a connection
	}
	if bad {
		a.Phase = t.phase
	}
	switch {
	case answeredWrongly(kind.Outcome) && kind.Outcome != history.Stall:
		a.Cause = CauseBadAnswer
	case bad && t.cause == CauseNodeLost && kind.inferred:
		a.Cause = CauseNodeLostConnection
	case bad && t.ending() && cut(kind.Outcome):
		a.Cause = l.cutBy(at)
	case bad:
		a.Cause = t.cause
	case cut(kind.Outcome), kind.Outcome == history.Refused:
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
func (l *PodTimeline) cutBy(at history.Offset) Cause {
	term := l.sigterm()
	if !term.OK {
		return CauseCutWhileEnding
	}
	drops := dropsWithin
	if l.Lifecycle.Grace > 0 {
		left := max(l.Lifecycle.Grace-l.Lifecycle.PreStop, leastGrace) // from SIGTERM to SIGKILL
		drops = min(drops, left/2)
	}
	if at <= term.At+drops {
		return CauseCutAtSIGTERM
	}
	return CauseCutAtEnd
}

// unknownPod attributes a new connection that may have gone to any of the endpoints.
func (s *Timelines) unknownPod(kind FailureGroup, at history.Offset) Attribution {
	services := s.target
	if s.Gateways[kind.Lane] {
		services = s.entry
	}
	for _, try := range []struct {
		lag        time.Duration
		suspectAll bool
	}{{ProxyLag, false}, {ProxyLagAtMost, false}, {ProxyLag, true}} {
		if found, ok := s.choose(kind, at, s.look(services, at, try.lag, try.suspectAll)); ok {
			return found
		}
	}
	if kind.Outcome == history.TimeoutConnect || kind.Outcome == history.TimeoutResponse || kind.Outcome == history.Stall {
		return Attribution{Cause: CauseSlow, Confidence: ConfidenceNone}
	}
	return nobody()
}

// choose takes the cause that most of the pods in trouble have, of those that can show in such a way and that proxies are likeliest
// to have sent to.
func (s *Timelines) choose(kind FailureGroup, at history.Offset, a around) (Attribution, bool) {
	if a.fine == 0 && !a.entry {
		if found, ok := s.outage(at, a.troubled); ok {
			return found, true
		}
	}
	list := slices.DeleteFunc(slices.Clone(a.troubled), func(t trouble) bool {
		return !t.sure || kind.Outcome == history.Refused && t.cause == CauseNodeLost && !s.dying(t.pod.Node, at)
	})
	list = prefer(list, func(t trouble) bool { return s.shows(kind.Outcome, t, at) })
	if len(list) == 0 {
		return Attribution{}, false
	}
	list = slices.SortedStableFunc(slices.Values(list), func(a, b trouble) int { return cmp.Compare(a.sent, b.sent) })
	all := whom(list)
	cause := most(prefer(list, func(t trouble) bool { return t.sent == list[0].sent }))
	list = slices.DeleteFunc(slices.Clone(list), func(t trouble) bool { return t.cause != cause })
	confidence := ConfidenceOneOf
	switch {
	case a.fine == 0:
		confidence = ConfidenceAll
	case len(list) == 1:
		confidence = ConfidenceOnly
	}
	found := attribution(cause, confidence, list)
	found.Among = all
	return found, true
}
