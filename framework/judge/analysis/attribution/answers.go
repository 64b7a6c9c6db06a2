package attribution

import (
	"math/bits"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

const (
	// answerStep is the resolution with which it is stored when a pod accepted connections.
	answerStep = 100 * time.Millisecond
	// maxAnswerSteps bounds the stored time: one day.
	maxAnswerSteps = int(24 * time.Hour / answerStep)
	// listening is the time before and after a moment within which a pod must have accepted connections to count as listening in
	// between. With the usual load, a pod gets one in six of 100 new connections a second, so longer breaks are rare.
	listening = 400 * time.Millisecond
)

// accepted are the moments at which a pod accepted a connection and answered on it: one bit for each step.
type accepted []uint64

func (a *accepted) add(at history.Offset) {
	step := int(at / answerStep)
	if step < 0 || step >= maxAnswerSteps {
		return
	}
	for len(*a) <= step/64 {
		*a = append(*a, 0)
	}
	(*a)[step/64] |= 1 << (step % 64)
}

// between reports whether there was such a moment, to the precision of a step.
func (a accepted) between(from, to history.Offset) bool {
	last := min(int(to/answerStep), len(a)*64-1)
	for step := max(0, int(from/answerStep)); step <= last; {
		if rest := a[step/64] >> (step % 64); rest != 0 {
			return step+bits.TrailingZeros64(rest) <= last
		}
		step = (step/64 + 1) * 64
	}
	return false
}

// listened reports whether the pod accepted connections shortly before and shortly after a moment.
func (a accepted) listened(at history.Offset) bool {
	return a.between(at-listening, at) && a.between(at, at+listening)
}

// answered takes in a request. A good answer on a connection that was open before does not show that the pod accepts new ones.
// Behind a gateway it is unknown which connection was used, and a good answer counts.
func (s *Timelines) answered(r *history.Request) {
	s.see(r)
	if r.GatewayTries > 0 {
		s.Gateways[r.Lane] = true
		s.gateway.add(r.Sent)
	}
	if r.Outcome != history.OK || r.Pod == "" || r.Reused && r.GatewayTries == 0 {
		return
	}
	l := s.last
	if l == nil || l.Name != r.Pod || !l.Alone {
		if l = s.Named(r.Pod, r.Sent); l == nil {
			return
		}
		s.last = l
	}
	l.accepted.add(r.Sent)
	if !l.firstAnswer.OK || r.Sent < l.firstAnswer.At {
		l.firstAnswer = history.Moment{At: r.Sent, OK: true}
		s.named[ownerOf(l.Pod)] = true
	}
}
