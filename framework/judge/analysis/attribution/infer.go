package attribution

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
)

const (
	// ProxyLag is how long after a change of an EndpointSlice a proxy may still use the old endpoints, on a usual machine.
	ProxyLag = evidence.PropagationSlack
	// ProxyLagAtMost is ProxyLag on a machine without enough processor time. It explains only what nothing else explains.
	ProxyLagAtMost = 10 * time.Second
	// lateStart is the longest time from a pod's first ready endpoint to its first connection, if the pod listens.
	lateStart = 1500 * time.Millisecond
	// dropsWithin is the time after SIGTERM within which a server that drops requests in flight does so. The sample backend waits
	// up to a second for a request to drop. If SIGKILL comes sooner, failures that are nearer to SIGKILL are attributed to it.
	dropsWithin = 2500 * time.Millisecond
	// leastGrace is the time that a kubelet leaves a container after its preStop hook, even if the hook used up the grace period.
	//
	// Source: minimumGracePeriodInSeconds in kubernetes pkg/kubelet/kuberuntime/kuberuntime_container.go
	leastGrace = 2 * time.Second
	// proxyUsual is how long a proxy usually takes: two syncs are at least a second apart.
	proxyUsual = time.Second
	// silent is how long a pod on a node that a fault affected must not answer to count as lost with the node, if the node was not
	// reported as not Ready.
	silent = 2 * time.Second
	// returning is how long a node that is Ready again may not serve yet: its proxy and its pods start after its kubelet.
	returning = 10 * time.Second
)

// findTarget finds the Services whose pods answered. If no pod answered, it is the Service with a workload's name. The other
// Services are entries: one of them leads to the gateway, if there is one.
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
	own := slices.Collect(maps.Values(s.own)) // the URL of a lane leads there, so that it is no gateway's
	for name := range s.objects.Services {
		if !slices.Contains(s.target, name) && !slices.Contains(own, name) {
			s.entry = append(s.entry, name)
		}
	}
	slices.Sort(s.target)
	slices.Sort(s.entry)
}

// around is the state of the Services' endpoints at a moment.
type around struct {
	services []string
	fine     int       // endpoints that could have answered, as far as is known
	troubled []trouble // endpoints that could not answer, or may not have been able to
	entry    bool      // the endpoints are a gateway's own
}

// look sorts the pods to which proxies may have sent requests by what was wrong with them. A pod that accepted connections
// shortly before and after the moment is fine, unless suspectAll is set.
func (s *Timelines) look(services []string, at history.Offset, lag time.Duration, suspectAll bool) (a around) {
	a.services = services
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
			t.sure = t.sure || t.cause == CauseReadyTooEarly && (l.offeredUnready(services, at) || s.foreign(l, services))
			bad = bad && (!entry || t.cause != CauseReadyTooEarly) // answers do not name the gateway's pod
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

// attribute finds the cause of a group of failed requests.
func (s *Timelines) attribute(kind FailureGroup, at history.Offset) Attribution {
	switch {
	case kind.pod != "":
		if l := s.Named(kind.pod, at); l != nil {
			return s.known(kind, l, at)
		}
		return Attribution{Cause: CauseUnknown, Confidence: ConfidenceSeen, Pod: kind.pod, Among: []PodOn{{Pod: kind.pod, Node: kind.node}}}
	case s.facts.Blind(at):
		return nobody() // the state may have been another
	case s.Gateways[kind.Lane] && kind.status >= 500, s.fronts[kind.Lane] != nil && passed(kind.Outcome):
		return s.upstream(kind, at)
	}
	return s.unknownPod(kind, at)
}

func nobody() Attribution { return Attribution{Cause: CauseUnknown, Confidence: ConfidenceNone} }

// known attributes failures of a known pod.
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
		bad = false // the pod accepted the connection
	}
	if until := at + history.Offset(kind.Lasted+1)*evidence.LoadWindow; bad && t.ending() && kind.Outcome == history.TimeoutResponse && !l.endedBy(until) {
		bad = false // the pod accepted the request, and had not ended when the client gave up
	}
	if bad {
		a.Phase = t.phase
	}
	services := s.servicesOf(kind.Lane)
	ending := bad && t.ending()
	cutOff := ending && cut(kind.Outcome)
	switch {
	case s.foreign(l, services) && t.cause != CauseNodeLost:
		a.Cause, a.Story = CauseForeignPod, foreignStory(l)
	case answeredWrongly(kind.Outcome) && kind.Outcome != history.Stall && !cutOff:
		a.Cause = s.wrongAnswer(l, ending, at)
	case bad && t.cause == CauseNodeLost && kind.inferred:
		a.Cause = CauseNodeLostConnection
	case cutOff:
		a.Cause = l.cutBy(at)
	case bad:
		a.Cause = s.finer(t.cause, l, services, at)
	case cut(kind.Outcome), kind.Outcome == history.Refused:
		a.Cause = CauseCutWhileReady
	}
	return a
}

// wrongAnswer is why a pod answered wrongly. One that is ending may do so because the application behind its container in front is not there
// any more.
func (s *Timelines) wrongAnswer(l *PodTimeline, ending bool, at history.Offset) Cause {
	switch {
	case ending && s.applicationEnded(l, at):
		return CauseAppEndedFirst
	case ending:
		return CauseBadAnswerEnding
	}
	return CauseBadAnswer
}

// cut reports whether a connection ended during a request.
func cut(o history.Outcome) bool {
	switch o {
	case history.Reset, history.ClosedEarly, history.Truncated, history.GoAway, history.Masked, history.Other:
		return true
	}
	return false
}

// cutBy distinguishes a server that drops requests in flight at SIGTERM from one that keeps its connections until it exits, or is killed.
func (l *PodTimeline) cutBy(at history.Offset) Cause {
	term := l.sigterm()
	if !term.OK {
		return CauseCutWhileEnding
	}
	drops := dropsWithin
	if l.Lifecycle.Grace > 0 {
		left := max(l.Lifecycle.Grace-l.preStop(), leastGrace) // from SIGTERM to SIGKILL
		drops = min(drops, left/2)
	}
	switch {
	case at <= term.At+drops:
		return CauseCutAtSIGTERM
	case l.Killed:
		return CauseKilled
	}
	return CauseCutAtEnd
}

// unknownPod attributes failures of a pod that is not known, as on new connections, which may have gone to any endpoint.
func (s *Timelines) unknownPod(kind FailureGroup, at history.Offset) Attribution {
	services := s.servicesOf(kind.Lane)
	if found, ok := s.withdrew(services, at); ok {
		return found
	}
	for _, try := range []struct {
		lag        time.Duration
		suspectAll bool
	}{{ProxyLag, false}, {ProxyLagAtMost, false}, {ProxyLag, true}} {
		if found, ok := s.choose(kind, at, s.heard(kind, at, s.look(services, at, try.lag, try.suspectAll))); ok {
			return found
		}
	}
	if evidence.Slow(kind.Outcome) {
		return Attribution{Cause: CauseSlow, Confidence: ConfidenceNone}
	}
	return nobody()
}

// servicesOf are the Services that a lane's connections lead to.
func (s *Timelines) servicesOf(lane history.Lane) []string {
	switch front := s.fronts[lane]; {
	case front != nil:
		return front.Entries
	case s.Gateways[lane]:
		return s.entry
	case s.own[lane] != "":
		return []string{s.own[lane]}
	}
	return s.target
}

// choose returns the most frequent cause among the troubled pods that can cause such an outcome, and to which proxies most likely
// sent requests. Not ok: there is no such pod.
func (s *Timelines) choose(kind FailureGroup, at history.Offset, a around) (Attribution, bool) {
	if a.fine == 0 && !a.entry {
		if found, ok := s.outage(a.services, at, a.troubled); ok {
			return found, true
		}
	}
	list := slices.DeleteFunc(slices.Clone(a.troubled), func(t trouble) bool {
		return !t.sure || kind.Outcome == history.Refused && !s.canRefuse(t, at)
	})
	list = prefer(list, func(t trouble) bool { return s.shows(kind.Outcome, t, at) })
	if len(list) == 0 {
		return Attribution{}, false
	}
	for i, t := range list {
		list[i].cause = s.finer(t.cause, t.pod, a.services, at)
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
	if found.Among = all; cause == CauseForeignPod {
		found.Story = foreignStory(list[0].pod)
	}
	return found, true
}
