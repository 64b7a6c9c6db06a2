package attribution

import (
	"math"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/analysis/requests"
	"github.com/holdfast-ha/holdfast/framework/history"
)

const (
	// groupStep is how finely failures are laid against what was going on. It doubles whenever there are too many kinds.
	groupStep = 20 * time.Millisecond
	// maxGroups bounds the kinds of failures that are told apart for their causes: some MiB.
	maxGroups = 1 << 14
)

// FailureGroup is what failed requests have in common as far as their cause goes. Why they failed is only known when all requests
// were read: whether a pod listened at a moment is told by the answers after it.
type FailureGroup struct {
	step     int64
	Lane     history.Lane
	Outcome  history.Outcome
	status   int
	retried  bool // by a gateway
	pod      string
	node     string // that the request itself names; empty where it names none
	inferred bool
	kept     bool  // See OnKept
	Noisy    bool  // the load worker stood still meanwhile, and nobody answered
	Since    bool  // sent after the first fault began
	Lasted   uint8 // in seconds that it touched but for the first
}

// FailureGroups sorts failed requests by what decides about their cause. Memory does not grow with them.
type FailureGroups struct {
	Timelines *Timelines
	since     history.Moment // when the first fault began
	step      time.Duration
	kinds     map[FailureGroup]SimilarFailures
	found     *Attributed // once asked for
}

// SimilarFailures are the failed requests of a kind: how many, and the first and the last of them by Sent.
type SimilarFailures struct {
	N           uint64
	First, Last history.Request // their texts are their own
}

// with is what two lots of them are together.
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

func NewFailureGroups(s *Timelines) *FailureGroups {
	return &FailureGroups{Timelines: s, since: s.facts.FirstFault(), step: groupStep, kinds: make(map[FailureGroup]SimilarFailures)}
}

// Add takes failed requests of a kind.
func (s *FailureGroups) Add(a SimilarFailures) {
	s.found = nil
	r := &a.First
	kind := FailureGroup{
		step: int64(r.Sent / s.step), Lane: r.Lane, Outcome: r.Outcome, status: r.Status, retried: r.GatewayTries > 1,
		pod: r.Pod, node: r.Node, inferred: r.Inferred, kept: OnKept(r), Noisy: s.Timelines.facts.Noise.Explains(r),
		Since:  s.since.OK && r.Sent >= s.since.At,
		Lasted: uint8(min(max(r.Done/evidence.LoadWindow-r.Sent/evidence.LoadWindow, 0), math.MaxUint8)),
	}
	if r.Outcome == history.Masked && !r.Inferred {
		kind.pod, kind.node = "", "" // it names who helped out
	}
	if kind.pod == "" {
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

// at is a moment within a shot's step: its middle, so that it is wrong by half a step at most.
func (s *FailureGroups) at(kind FailureGroup) history.Offset {
	return history.Offset(kind.step)*s.step + s.step/2
}

// dialled names the pod whose own address was dialled; empty when it was a Service's.
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
		s.hosts[host] = l == nil && !s.anyones(host)
	}
	if l == nil {
		return ""
	}
	return l.Name
}

// anyones tells whether an address was ever a pod's.
func (s *Timelines) anyones(ip string) bool {
	for _, l := range s.pods {
		if l.IP == ip {
			return true
		}
	}
	return false
}

// answeredWrongly tells whether it was the server named in the response that let the client down. Of a retry that was
// masked, the response names the one that helped out.
func answeredWrongly(o history.Outcome) bool {
	switch o {
	case history.BadStatus, history.WrongBody, history.Truncated, history.Stall:
		return true
	}
	return false
}

// OnKept tells whether a request was sent on a connection that was open already, and whom that leads to is known. Behind a
// gateway each request has a choice of its own.
func OnKept(r *history.Request) bool {
	return r.Reused && r.GatewayTries == 0 && (r.Pod != "" || r.Node != "")
}

// Known tells whether it is known whom a request was sent to: the server said so, or its connection leads there.
func (k FailureGroup) Known() bool { return k.pod != "" || k.node != "" }

// Targets are those whom failures may have been sent to: of a known one, that one.
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
