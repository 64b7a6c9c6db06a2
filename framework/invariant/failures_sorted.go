package invariant

import (
	"cmp"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// sorter tells failures apart by the outages that may explain them.
type sorter struct {
	facts    *facts
	failures *failures
	outages  []*outage
	// unclear is the moment from which on nobody can tell whether a failure was allowed: a fault had begun of which it is not known when
	// it bit, or for how long it may be felt.
	unclear history.Offset
}

// sortedFailures are failures by what FailuresEndWithin has to say of them.
type sortedFailures struct {
	inside   *failures // the victims', as far as is known
	outside  *failures // at a time when none was allowed
	innocent *failures // during an outage, at pods that no fault had bitten
	stray    *failures // during an outage, when it was over for those who open a connection
	noise    excused   // what would be one of the others
	doubts   doubts

	maybe map[*outageLane]excused // of those that opened a connection, what noise explains as well as a victim
}

// sort sorts the failures when all requests were read.
func (x *sorter) sort() *sortedFailures {
	x.findDeaths()
	f, l := x.facts, x.failures
	s := &sortedFailures{inside: l.none(), outside: l.none(), innocent: l.none(), stray: l.none(), maybe: make(map[*outageLane]excused)}
	var late, hidden uint64
	l.shots.each(func(kind shot, at history.Offset, all alike, a Attribution) {
		for _, like := range x.apart(all, kind, a) {
			o, to, why := x.outageOf(&like.first), s.inside, ""
			switch is := o.standing(&like.first, kind, a); {
			case like.first.Done >= x.unclear: // as it may have been; the doubts are there
			case is == disallowed:
				to, why = s.outside, f.excuse(kind, at, a, l.noisy)
			case is == another:
				to, why = s.innocent, f.excuse(kind, at, a, l.noisy)
			case o.strays(f, kind, at):
				to, why = s.stray, cmp.Or(f.excuse(kind, at, a, l.noisy), f.excuseProxies(at, o.victims(f)))
			default:
				o.ends(&like.last)
				if is == unsure {
					late += like.n
				}
				if !kind.known() && f.blind(at) {
					hidden += like.n
				}
				if !kind.known() {
					s.mayBeNoise(o, like, f.excuseUnknown(kind, at, l.noisy))
				}
			}
			if why == "" {
				to.addAlike(like)
				continue
			}
			s.noise.add(like.n, why)
			s.mayBeNoise(o, like, why)
		}
	})
	if late > 0 {
		s.doubts.add("%s failed so late that it was allowed only if the victims died at the last moment that the record leaves open", count(late, "request"))
	}
	if hidden > 0 {
		s.doubts.add("%s failed while a watch was blind: whom they were sent to is not known", count(hidden, "request"))
	}
	return s
}

// findDeaths finds the first failures of victims.
func (x *sorter) findDeaths() {
	x.failures.shots.each(func(kind shot, _ history.Offset, like alike, a Attribution) {
		for _, o := range x.outages {
			for _, d := range o.deaths {
				if (kind.known() || a.blames()) && slices.ContainsFunc(kind.targets(a), d.bit) {
					d.letDown(&like.first)
					d.letDown(&like.last)
				}
			}
		}
	})
}

// outageOf is the outage that a request was sent in, or was in flight at the beginning of; nil if there is none.
func (x *sorter) outageOf(r *history.Request) *outage {
	for _, o := range x.outages {
		if r.Done >= o.from && r.Sent < o.to {
			return o
		}
	}
	return nil
}

// apart cuts the last off failures that are alike, when it was sent after the end of an outage, and the first was not.
func (x *sorter) apart(like alike, kind shot, a Attribution) []alike {
	of := func(r *history.Request) standing { return x.outageOf(r).standing(r, kind, a) }
	if like.n == 1 || of(&like.first) == of(&like.last) {
		return []alike{like}
	}
	return []alike{{n: like.n - 1, first: like.first, last: like.first}, {n: 1, first: like.last, last: like.last}}
}

// mayBeNoise notes failures that noise explains as well as a victim, of those that the victims' share is about.
func (s *sortedFailures) mayBeNoise(o *outage, like alike, why string) {
	if o == nil || onKept(&like.first) || why == "" {
		return
	}
	lane := o.lane(like.first.Lane)
	e := s.maybe[lane]
	e.add(like.n, why)
	s.maybe[lane] = e
	if lane != nil {
		lane.explain(o, like)
	}
}

// atOnce is the first lane on which more failed than that for a part of an outage.
func atOnce(list []share) *share {
	for i := range list {
		if list[i].burst != nil {
			return &list[i]
		}
	}
	return nil
}

// tooMany is the first lane on which more failed than the victims' share explains, and than noise does.
func (s *sortedFailures) tooMany(list []share) *share {
	for i := range list {
		of := &list[i]
		maybe := s.maybe[of.outage.lane(of.lane)]
		switch {
		case !of.exceeds(0):
		case of.exceeds(maybe.total):
			return of
		default:
			s.noise.add(maybe.total, maybe.why)
		}
	}
	return nil
}

// lanesBeyond are all lanes of which tooMany tells.
func (s *sortedFailures) lanesBeyond(list []share) (lanes []history.Lane) {
	for i := range list {
		if of := &list[i]; of.exceeds(s.maybe[of.outage.lane(of.lane)].total) {
			lanes = append(lanes, of.lane)
		}
	}
	return lanes
}
