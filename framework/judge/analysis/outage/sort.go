package outage

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/failures"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// Sorter sorts failures by the outages that may explain them.
type Sorter struct {
	Facts    *evidence.Run
	Failures *failures.Failures
	Outages  []*Outage
	// Unclear is the moment from which it is unknown whether a failure was allowed: a fault had begun, and it is unknown when it took
	// effect, or how long its failures may last.
	Unclear history.Offset
	// Besides says that another promise is about something planned at the same time: it judges what only that explains.
	Besides bool
}

// SortedFailures are failures in the groups that FailuresEndWithin judges.
type SortedFailures struct {
	Inside   *failures.Failures // the victims', as far as is known
	Outside  *failures.Failures // at a time when none was allowed
	Innocent *failures.Failures // during an outage, at pods that no fault affected
	Stray    *failures.Failures // during an outage, when new connections could no longer reach a victim
	Noise    failures.Excused   // would be in another group without noise
	Doubts   verdict.Missing

	maybe map[*outageLane]maybe
}

// maybe are failed requests that opened a connection, and that noise explains as well as a victim does: all of them, and those that are in
// Inside. The others are in Noise.
type maybe struct{ all, inside failures.Excused }

// Sort sorts the failures. All requests must have been read.
func (x *Sorter) Sort() *SortedFailures {
	x.findDeaths()
	f, l := x.Facts, x.Failures
	s := &SortedFailures{Inside: l.None(), Outside: l.None(), Innocent: l.None(), Stray: l.None(), maybe: make(map[*outageLane]maybe)}
	var late, near, hidden uint64
	noisy := l.Noisy()
	l.Groups.Each(func(kind attribution.FailureGroup, at history.Offset, all attribution.SimilarFailures, a attribution.Attribution) {
		for _, like := range x.apart(all, kind, a) {
			o, to, why := x.outageOf(&like.First), s.Inside, evidence.Reason{}
			excuse := failures.Excuse(kind, at, a, noisy)
			switch is := o.standing(&like.First, kind, a); {
			case like.First.Done >= x.Unclear: // allowed for all that is known; Doubts has the rest
			case x.Besides && x.planned(like, kind, a) && (is == disallowed || is == another || o.strays(f, kind, at, like)):
				continue
			case is == disallowed:
				to, why = s.Outside, excuse
			case is == another:
				to, why = s.Innocent, excuse
			case o.strays(f, kind, at, like):
				to, why = s.Stray, excuse
			default:
				o.ends(&like.Last)
				switch is {
				case unsure:
					late += like.N
				case unordered:
					near += like.N
				}
				if !kind.Known() && f.Blind(at) {
					hidden += like.N
				}
				if !kind.Known() {
					s.mayBeNoise(o, like, failures.Excuse(kind, at, attribution.Attribution{}, noisy), true)
				}
			}
			if why.None() {
				to.AddSimilar(like)
				continue
			}
			s.Noise.Add(like.N, why)
			s.mayBeNoise(o, like, why, false)
		}
	})
	if late > 0 {
		s.Doubts.Add("%s failed so late that it was allowed only if the victims died at the last moment that the record leaves open", prose.Count(late, "request"))
	}
	if near > 0 {
		s.Doubts.Add("%s failed so near to the moment from or until which it was allowed that the clocks of the load workers, known to %s, do not tell the order",
			prose.Count(near, "request"), f.ClockError().Round(time.Microsecond))
	}
	if hidden > 0 {
		s.Doubts.Add("%s failed while a watch was blind: whom they were sent to is not known", prose.Count(hidden, "request"))
	}
	return s
}

// Longest is the longest time in which an outage allows failures; without any outage, the given one.
func (x *Sorter) Longest(otherwise time.Duration) (limit time.Duration) {
	for _, o := range x.Outages {
		for _, d := range o.deaths {
			limit = max(limit, d.limit)
		}
	}
	return cmp.Or(limit, otherwise)
}

// Planned returns the failures that no outage explains, and counts those that both an outage and the planned disturbance may explain: nothing tells whose
// they are. All requests must have been read.
func (x *Sorter) Planned() (rest *failures.Failures, either uint64) {
	x.findDeaths()
	rest = x.Failures.None()
	x.Failures.Groups.Each(func(kind attribution.FailureGroup, at history.Offset, all attribution.SimilarFailures, a attribution.Attribution) {
		for _, like := range x.apart(all, kind, a) {
			o := x.outageOf(&like.First)
			switch is := o.standing(&like.First, kind, a); {
			case like.First.Done >= x.Unclear:
				either += like.N
			case is == disallowed, is == another, o.strays(x.Facts, kind, at, like):
				rest.AddSimilar(like)
			case x.planned(like, kind, a):
				either += like.N
			}
		}
	})
	return rest, either
}

// planned reports whether something planned may explain similar failures: it was in force, as it may have been before a watch reported it, or proxies may
// still have followed it, and the failures are not known to be those of other pods.
func (x *Sorter) planned(like attribution.SimilarFailures, kind attribution.FailureGroup, a attribution.Attribution) bool {
	return slices.ContainsFunc(x.Facts.Faults, func(fault timeline.FaultLife) bool {
		off := x.Facts.ClockError()
		over := like.First.Sent
		if fault.Healed.OK {
			over = fault.Healed.At + evidence.PropagationSlack + off
		}
		if !fault.Voluntary || !fault.Injecting.OK || like.Last.Done < fault.Injecting.At-evidence.WatchSkew-off || like.First.Sent > over {
			return false
		}
		taken := Death{nodes: fault.Nodes, pods: fault.Pods}
		return !kind.Known() && !a.Blames() || slices.ContainsFunc(kind.Targets(a), taken.hit)
	})
}

// findDeaths finds the first failures of victims.
func (x *Sorter) findDeaths() {
	x.Failures.Groups.Each(func(kind attribution.FailureGroup, _ history.Offset, like attribution.SimilarFailures, a attribution.Attribution) {
		for _, o := range x.Outages {
			for _, d := range o.deaths {
				if (kind.Known() || a.Blames()) && slices.ContainsFunc(kind.Targets(a), d.hit) {
					d.addFailure(&like.First)
					d.addFailure(&like.Last)
				}
			}
		}
	})
}

// outageOf is the outage in which a request was sent, or at whose beginning it was in flight; nil: none.
func (x *Sorter) outageOf(r *history.Request) *Outage {
	for _, o := range x.Outages {
		if r.Done >= o.From-o.clock && r.Sent < o.To+2*o.clock {
			return o
		}
	}
	return nil
}

// apart separates the last of similar failures if it was sent after the end of an outage and the first was not.
func (x *Sorter) apart(like attribution.SimilarFailures, kind attribution.FailureGroup, a attribution.Attribution) []attribution.SimilarFailures {
	of := func(r *history.Request) standing { return x.outageOf(r).standing(r, kind, a) }
	if like.N == 1 || of(&like.First) == of(&like.Last) {
		return []attribution.SimilarFailures{like}
	}
	return []attribution.SimilarFailures{{N: like.N - 1, First: like.First, Last: like.First}, {N: 1, First: like.Last, Last: like.Last}}
}

// mayBeNoise notes failures that count for the victims' share and that noise explains as well as a victim does. Those that are not inside
// are in Noise already.
func (s *SortedFailures) mayBeNoise(o *Outage, like attribution.SimilarFailures, why evidence.Reason, inside bool) {
	if o == nil || attribution.OnKept(&like.First) || why.None() {
		return
	}
	lane := o.lane(like.First.Lane)
	m := s.maybe[lane]
	m.all.Add(like.N, why)
	if inside {
		m.inside.Add(like.N, why)
	}
	s.maybe[lane] = m
	if lane != nil {
		lane.explain(o, like)
	}
}

// AtOnce returns the first lane on which too many requests failed in a part of an outage, and all such lanes.
func AtOnce(list []Share) (first *Share, lanes []history.Lane) {
	for i := range list {
		if list[i].Burst != nil {
			first, lanes = cmp.Or(first, &list[i]), append(lanes, list[i].Lane)
		}
	}
	return first, lanes
}

// TooMany returns the first lane on which more requests failed than the victims' share and noise explain, and all such lanes. What only noise explains, over
// the whole outage or in a part of it, it adds to Noise.
func (s *SortedFailures) TooMany(list []Share) (first *Share, lanes []history.Lane) {
	for i := range list {
		of := &list[i]
		if o := of.Outage; o.recorded && o.share < 1 && of.all > 2 && of.Failed == of.all && !of.Tested() {
			s.Doubts.Add("%s, and nothing shows that the pods that were left could answer", of)
		}
		maybe := s.maybe[of.Outage.lane(of.Lane)]
		switch {
		case of.exceeds(maybe.all.Total):
			first, lanes = cmp.Or(first, of), append(lanes, of.Lane)
		case first == nil && (of.exceeds(0) || of.noisyBurst && of.Burst == nil):
			s.Noise.AddAll(maybe.inside)
		}
	}
	return first, lanes
}
