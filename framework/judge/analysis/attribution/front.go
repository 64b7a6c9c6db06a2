package attribution

import "github.com/holdfast-ha/holdfast/framework/history"

// passed reports whether a request that failed so may have passed a front, and met a pod behind it. A connection that cannot be made, or
// is cut, is the front's own.
func passed(o history.Outcome) bool {
	return answeredWrongly(o) || o == history.TimeoutResponse
}

// hidden reports whether it is not known which pod failed a request: a front answered in the name of a pod behind it, or waited for it.
func (s *Timelines) hidden(r *history.Request) bool {
	return s.fronts[r.Lane] != nil && passed(r.Outcome)
}

// ownFault attributes an error that no pod behind a gateway explains.
func (s *Timelines) ownFault(kind FailureGroup, at history.Offset) Attribution {
	front := s.fronts[kind.Lane]
	if front != nil {
		if found, ok := s.choose(kind, at, s.look(front.Entries, at, ProxyLag, false)); ok {
			return found
		}
	}
	switch {
	case kind.status == 504, front != nil && (kind.Outcome == history.TimeoutResponse || kind.Outcome == history.Stall):
		return Attribution{Cause: CauseSlow, Confidence: ConfidenceNone}
	case front != nil && answeredWrongly(kind.Outcome) && kind.status < 502: // those from 502 on are what proxies say of servers that do not answer
		return Attribution{Cause: CauseBadAnswer, Confidence: ConfidenceNone}
	}
	return nobody()
}
