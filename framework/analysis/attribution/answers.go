package attribution

import (
	"math/bits"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

const (
	// answerStep is how finely it is remembered when a pod took connections.
	answerStep = 100 * time.Millisecond
	// maxAnswerSteps bounds it: a day.
	maxAnswerSteps = int(24 * time.Hour / answerStep)
	// listening is how long before and after a moment a pod must have taken a connection to be thought to have listened in
	// between: with the usual load, one in six of 100 new connections a second, hardly a pod is left out for so long by chance.
	listening = 400 * time.Millisecond
)

// accepted are the moments at which a pod took a connection and answered on it: a bit a step.
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

// between tells whether there was one, to a step.
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

// listened tells whether the pod took connections shortly before and shortly after a moment.
func (a accepted) listened(at history.Offset) bool {
	return a.between(at-listening, at) && a.between(at, at+listening)
}

// answered takes in a request that was answered well. On a connection that it found open it says nothing of whether the pod
// EventInvariant takes new ones; behind a gateway nobody knows, and it must do.
func (s *Timelines) answered(r *history.Request) {
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
	}
}
