package outage

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/base/stats"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/requests"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// outageLane counts a lane's requests during an outage. A request that opened a connection met a victim by chance, with the
// probability of the victims' share of the endpoints. A request on an open connection had no choice: the connection leads to a known
// pod. One that a front sends on has the choice of its pods nevertheless.
type outageLane struct {
	lane        history.Lane
	opened      []uint32 // by step
	fails       []uint32 // of those, by step
	noisy       []uint32 // of fails, by step: those that noise explains as well; see mayBeNoise
	failed      uint64
	first, last history.Offset // Sent of failures
	keeps       bool           // there were requests on connections that were open already
	kept        uint64         // failures of those
	end         history.Offset // Sent of the last failure that was allowed; see sort
}

// ends counts a failure that was allowed.
func (o *Outage) ends(r *history.Request) {
	if l := o.lane(r.Lane); l != nil {
		l.end = max(l.end, r.Sent)
	}
}

// Count counts a request that was sent during the outage, or was in flight when the outage began.
func (o *Outage) Count(r *history.Request, failed bool) {
	l := o.lane(r.Lane)
	if l == nil {
		return
	}
	at := max(r.Sent, o.From)
	if attribution.OnKept(r) && o.fronts[r.Lane] == nil {
		l.keeps = true
		if failed {
			l.kept++
		}
		return
	}
	l.opened[(at-o.From)/outageStep]++
	if !failed {
		return
	}
	if l.failed == 0 || at < l.first {
		l.first = at
	}
	l.last = max(l.last, at)
	l.fails[(at-o.From)/outageStep]++
	l.failed++
}

func (o *Outage) lane(name history.Lane) *outageLane {
	for _, l := range o.lanes {
		if l.lane == name {
			return l
		}
	}
	if len(o.lanes) == requests.MaxLanes {
		return nil // the tally reports it
	}
	steps := (o.To-o.From)/outageStep + 1
	l := &outageLane{lane: name, opened: make([]uint32, steps), fails: make([]uint32, steps), noisy: make([]uint32, steps)}
	o.lanes = append(o.lanes, l)
	return l
}

// Share is how much of a lane's traffic failed while an outage lasted.
type Share struct {
	Outage      *Outage
	Lane        history.Lane
	Failed, all uint64 // that opened a connection, from the first failure to the last
	most        uint64 // of all that may fail by chance
	kept        uint64 // failures on connections that were open already
	choice      bool   // other requests of the lane did not open a connection
	First       history.Offset
	Burst       *burst // without what noise explains as well; nil: none
	noisyBurst  bool   // with that, there is a burst
	Since       *Death
	Measured    time.Duration // from then to the last failure
}

// Shares measures every lane that had failures in every outage.
func (x *Sorter) Shares(v *verdict.Verdict, lanes []history.Lane) (list []Share) {
	for _, o := range x.Outages {
		v.Measure("victimsShare", o.share)
		for _, l := range o.lanes {
			if l.failed+l.kept == 0 || !slices.Contains(lanes, l.lane) {
				continue
			}
			s := o.shareOf(l)
			v.Measure("shareTested."+string(l.lane), 0)
			if s.Tested() {
				v.Measure("shareTested."+string(l.lane), 1)
				v.Measure("failedShare."+string(l.lane), float64(s.Failed)/float64(s.all))
				v.Measure("allowedShare."+string(l.lane), float64(s.most)/float64(s.all))
				v.AtMost("failedShare."+string(l.lane), float64(s.most)/float64(s.all))
			}
			v.Measure("measuredSeconds", max(v.Numbers["measuredSeconds"], s.Measured.Seconds()))
			list = append(list, s)
		}
	}
	return list
}

func (o *Outage) shareOf(l *outageLane) Share {
	s := Share{Outage: o, Lane: l.lane, Failed: l.failed, kept: l.kept, choice: l.keeps, First: l.first, Since: o.Before(l.end)}
	s.Measured = max(0, l.end-s.Since.Earliest())
	if l.failed > 0 {
		for i := (l.first - o.From) / outageStep; i <= (l.last-o.From)/outageStep; i++ {
			s.all += uint64(l.opened[i])
		}
	}
	s.most, s.Burst, s.noisyBurst = o.mostOf(s.all), o.burst(l, l.noisy), o.burst(l, nil) != nil
	return s
}

// mostOf is how many of a number of requests may fail. The first and the last failed by definition, since the time is cut at them.
// Those in between are a sample.
func (o *Outage) mostOf(all uint64) uint64 {
	if o.Missed() {
		return 0
	}
	if o.share <= 0 || all <= 2 {
		return all
	}
	return min(all, 2+stats.MostOf(all-2, o.share, Chance))
}

// Tested reports whether more failures than the victims' share would have been noticed. Chance may send all of a few requests to
// victims.
func (s Share) Tested() bool { return s.most < s.all }

// exceeds reports whether more requests failed than the victims' share explains, without some of them.
func (s Share) exceeds(without uint64) bool {
	without = min(without, s.Failed)
	return s.Failed-without > s.Outage.mostOf(s.all-without)
}

// String describes what failed, and what was allowed to fail.
func (s Share) String() string {
	const kept = "connections to its victims that were open before"
	if s.Failed == 0 {
		return fmt.Sprintf("%s failed on %s during the outage of %s, on %s", prose.Count(s.kept, "request"), s.Lane, s.Outage.name, kept)
	}
	requests := "requests"
	if s.choice {
		requests = "requests that opened a connection"
	}
	text := fmt.Sprintf("%d of %d %s (%s) failed on %s during the outage of %s",
		s.Failed, s.all, requests, prose.Percent(float64(s.Failed)/float64(s.all)), s.Lane, s.Outage.name)
	if s.kept > 0 {
		text += fmt.Sprintf(", and %d on %s", s.kept, kept)
	}
	switch {
	case s.Outage.share >= 1:
		return text + "; " + s.Outage.Words
	case !s.Tested():
		return text + ": too few to test the victims' share"
	}
	return text + fmt.Sprintf("; %s, which with sampling error allows %d", s.Outage.Words, s.most)
}
