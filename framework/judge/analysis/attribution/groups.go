package attribution

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/requests"
)

const (
	// groupStep is the resolution in time of the groups. It doubles whenever there are too many groups.
	groupStep = 20 * time.Millisecond
	// maxGroups bounds the number of groups, and so the memory: some MiB.
	maxGroups = 1 << 14
)

// FailureGroup is what failed requests with the same cause have in common. The cause is known only when all requests were read,
// because later answers show whether a pod listened.
type FailureGroup struct {
	step     int64
	Lane     history.Lane
	Outcome  history.Outcome
	status   int
	retried  bool // by a gateway
	pod      string
	node     string // as the request names it; empty if it names none
	inferred bool
	kept     bool            // See OnKept
	Since    bool            // sent after the first fault began
	Why      evidence.Reason // why the failures say nothing of the system under test
	Lasted   uint8           // the number of further seconds that the request lasted into
}

// FailureGroups groups failed requests by what determines their cause. Memory does not grow with the number of requests.
type FailureGroups struct {
	Timelines *Timelines
	since     history.Moment // when the first fault began
	step      time.Duration
	kinds     map[FailureGroup]SimilarFailures
	found     *Attributed // once asked for
}

// SimilarFailures are the failed requests of a group: their number, and the first and the last of them by Sent.
type SimilarFailures struct {
	N           uint64
	First, Last history.Request // their texts are their own
}

// with is the union of both.
func (a SimilarFailures) with(b SimilarFailures) SimilarFailures {
	if a.N == 0 {
		return b
	}
	a.N += b.N
	if b.First.Sent < a.First.Sent {
		a.First = b.First
	}
	if b.Last.Sent > a.Last.Sent {
		a.Last = b.Last
	}
	return a
}

// NewFailureGroups returns groups without failures. The timelines tell the cause of each failure.
func NewFailureGroups(s *Timelines) *FailureGroups {
	return &FailureGroups{Timelines: s, since: s.facts.FirstFault(), step: groupStep, kinds: make(map[FailureGroup]SimilarFailures)}
}

// Add adds failed requests that belong to one group.
func (s *FailureGroups) Add(a SimilarFailures) {
	s.found = nil
	r, facts := &a.First, s.Timelines.facts
	kind := FailureGroup{
		step: int64(r.Sent / s.step), Lane: r.Lane, Outcome: r.Outcome, status: r.Status, retried: r.GatewayTries > 1,
		pod: r.Pod, node: r.Node, inferred: r.Inferred, kept: OnKept(r), Why: facts.Excuse(r),
		Since:  s.since.OK && r.Sent >= s.since.At,
		Lasted: uint8(min(max(r.Done/evidence.LoadWindow-r.Sent/evidence.LoadWindow, 0), math.MaxUint8)),
	}
	if r.Outcome == history.Masked && !r.Inferred {
		kind.pod, kind.node = "", "" // the answer names the pod that answered the retry
	}
	switch {
	case s.Timelines.hidden(r):
		kind.pod, kind.node, kind.inferred, kind.kept = "", "", false, false
	case kind.pod == "":
		kind.pod = s.Timelines.dialled(r)
	}
	if _, known := s.kinds[kind]; !known && len(s.kinds) >= maxGroups {
		s.coarsen()
		kind.step = int64(r.Sent / s.step)
	}
	s.kinds[kind] = s.kinds[kind].with(a)
}

// coarsen doubles the step until there is room for as many kinds again. What the lanes and outcomes alone make different
// is bounded by the caller's record; a damaged one may hold any.
func (s *FailureGroups) coarsen() {
	for len(s.kinds) > maxGroups/2 && s.step < time.Hour {
		s.step *= 2
		fewer := make(map[FailureGroup]SimilarFailures, len(s.kinds)/2)
		for kind, a := range s.kinds {
			kind.step /= 2
			fewer[kind] = fewer[kind].with(a)
		}
		s.kinds = fewer
	}
	if len(s.kinds) >= maxGroups {
		fewer := make(map[FailureGroup]SimilarFailures)
		for kind, a := range s.kinds {
			kind = FailureGroup{step: kind.step, Lane: history.Lane("other"), Outcome: history.Other}
			fewer[kind] = fewer[kind].with(a)
		}
		s.kinds = fewer
	}
}

// at is the middle of a group's step, so it is wrong by half a step at most.
func (s *FailureGroups) at(kind FailureGroup) history.Offset {
	return history.Offset(kind.step)*s.step + s.step/2
}

// dialled names the pod whose address was dialled; empty if it was the address of a Service.
func (s *Timelines) dialled(r *history.Request) string {
	colon := strings.LastIndexByte(r.Addr, ':')
	if colon < 0 {
		return ""
	}
	host := strings.Trim(r.Addr[:colon], "[]") // those around an IPv6 address
	if service, known := s.hosts[host]; known && service {
		return ""
	}
	l := s.addressed(host, r.Sent)
	if s.hosts == nil {
		s.hosts = make(map[string]bool)
	}
	if len(s.hosts) < requests.MaxWorkers {
		s.hosts[host] = l == nil && !slices.ContainsFunc(s.pods, func(pod *PodTimeline) bool { return pod.IP == host }) // nobody's, ever
	}
	if l == nil {
		return ""
	}
	return l.Name
}

// answeredWrongly tells whether it was the server named in the response that let the client down. Of a retry that was
// masked, the response names the one that helped out.
func answeredWrongly(o history.Outcome) bool {
	switch o {
	case history.BadStatus, history.WrongBody, history.BadTLS, history.Truncated, history.Stall:
		return true
	}
	return false
}

// OnKept reports whether a request was sent on a connection that was open before, and that leads to a known pod. Behind a
// gateway, an open connection says nothing about the pod: the gateway chooses one for each request.
func OnKept(r *history.Request) bool {
	return r.Reused && r.GatewayTries == 0 && (r.Pod != "" || r.Node != "")
}

// Known reports whether the pod to which a request was sent is known, from its answer or from its connection.
func (k FailureGroup) Known() bool { return k.pod != "" || k.node != "" }

// Targets are the pods to which the failed requests may have been sent; if the pod is known, only that one.
func (k FailureGroup) Targets(a Attribution) []PodOn {
	if !k.Known() {
		return a.Among
	}
	p := PodOn{Pod: k.pod, Node: k.node}
	if p.Node == "" {
		p.Node = a.Node
	}
	return []PodOn{p}
}
