package invariant

import (
	"math"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

const (
	// shotStep is how finely failures are laid against what was going on. It doubles whenever there are too many kinds.
	shotStep = 20 * time.Millisecond
	// maxShots bounds the kinds of failures that are told apart for their causes: some MiB.
	maxShots = 1 << 14
)

// shot is what failed requests have in common as far as their cause goes. Why they failed is only known when all requests
// were read: whether a pod listened at a moment is told by the answers after it.
type shot struct {
	step     int64
	lane     history.Lane
	outcome  history.Outcome
	status   int
	retried  bool // by a gateway
	pod      string
	inferred bool
	noisy    bool  // the load worker stood still meanwhile, and nobody answered
	lasted   uint8 // in seconds that it touched but for the first
}

// shots sorts failed requests by what decides about their cause. Memory does not grow with them.
type shots struct {
	lives *lives
	step  time.Duration
	kinds map[shot]uint64
	found *attributed // once asked for
}

func newShots(s *lives) *shots { return &shots{lives: s, step: shotStep, kinds: make(map[shot]uint64)} }

// add takes a failed request.
func (s *shots) add(r *history.Request) {
	s.found = nil
	kind := shot{
		step: int64(r.Sent / s.step), lane: r.Lane, outcome: r.Outcome, status: r.Status, retried: r.GatewayTries > 1,
		pod: r.Pod, inferred: r.Inferred, noisy: s.lives.facts.noise.explains(r),
		lasted: uint8(min(max(r.Done/loadWindow-r.Sent/loadWindow, 0), math.MaxUint8)),
	}
	if r.Outcome == history.Masked && !r.Inferred {
		kind.pod = "" // it names who helped out
	}
	if kind.pod == "" {
		kind.pod = s.lives.dialled(r)
	}
	if _, known := s.kinds[kind]; !known && len(s.kinds) >= maxShots {
		s.coarsen()
		kind.step = int64(r.Sent / s.step)
	}
	s.kinds[kind]++
}

// coarsen doubles the step until there is room for as many kinds again. What the lanes and outcomes alone make different
// is bounded by the caller's record; a damaged one may hold any.
func (s *shots) coarsen() {
	for len(s.kinds) > maxShots/2 && s.step < time.Hour {
		s.step *= 2
		fewer := make(map[shot]uint64, len(s.kinds)/2)
		for kind, n := range s.kinds {
			kind.step /= 2
			fewer[kind] += n
		}
		s.kinds = fewer
	}
	if len(s.kinds) >= maxShots {
		fewer := make(map[shot]uint64)
		for kind, n := range s.kinds {
			fewer[shot{step: kind.step, lane: history.Lane("other"), outcome: history.Other}] += n
		}
		s.kinds = fewer
	}
}

// at is a moment within a shot's step: its middle, so that it is wrong by half a step at most.
func (s *shots) at(kind shot) history.Offset { return history.Offset(kind.step)*s.step + s.step/2 }

// dialled names the pod whose own address was dialled; empty when it was a Service's.
func (s *lives) dialled(r *history.Request) string {
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
	if len(s.hosts) < maxWorkers {
		s.hosts[host] = l == nil && !s.anyones(host)
	}
	if l == nil {
		return ""
	}
	return l.name
}

// anyones tells whether an address was ever a pod's.
func (s *lives) anyones(ip string) bool {
	for _, l := range s.all {
		if l.ip == ip {
			return true
		}
	}
	return false
}
