package requests

import (
	"maps"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// shares are what the load workers were told to send, by worker. Older records have none: there each worker has a schedule of its own, and
// numbers its requests from 0.
type shares struct {
	all   map[string]*history.LoadShare
	twice string // a worker that was told twice
	// ended are the workers that ended with the recorder of a recording. They have no totals, and nothing else takes the place of those:
	// that too few requests were sent, or rows are missing, shows in the seconds around a disturbance, and elsewhere it is not asked.
	ended map[string]bool
	// drift is how far each worker's clock moved, its uncertainty included: the schedule is the worker's own.
	drift map[string]history.Offset
}

func sharesOf(run history.Run) shares {
	s := shares{all: make(map[string]*history.LoadShare), ended: make(map[string]bool), drift: make(map[string]history.Offset)}
	first := make(map[string]history.Offset)
	for _, e := range run.Events {
		switch {
		case e.Resumed != nil:
			for _, worker := range e.Resumed.Workers {
				s.ended[worker] = true
				delete(s.all, worker)
			}
		case e.Share != nil && s.all[e.Share.Worker] != nil:
			s.twice = e.Share.Worker
		case e.Share != nil:
			s.all[e.Share.Worker] = e.Share
		case e.Clock != nil:
			c := e.Clock
			if _, known := first[c.Worker]; !known {
				first[c.Worker] = c.Offset
			}
			s.drift[c.Worker] = max(s.drift[c.Worker], (c.Offset-first[c.Worker]).Abs()+c.Uncertainty)
		}
	}
	return s
}

// of is a worker's share.
func (s shares) of(worker string) history.Share {
	if told := s.all[worker]; told != nil {
		return told.Share
	}
	return history.Share{}
}

// workers are those that were told what to send, sorted by their numbers.
func (s shares) workers() []*history.LoadShare {
	return slices.SortedFunc(maps.Values(s.all), func(a, b *history.LoadShare) int { return a.Index - b.Index })
}

// lost reports whether a worker that was told what to send on a lane has no totals of it. unshared reports it.
func (s shares) lost(worker string, lane history.Lane, totals map[string]bool) bool {
	told := s.all[worker]
	return told != nil && !totals[worker+" "+string(lane)] &&
		slices.ContainsFunc(told.Lanes, func(l history.LaneStart) bool { return l.Lane == lane })
}

// sumOfHits is the sum over a worker's first n hits, as rows are summed: of mixed numbers, so that hits which are there twice, or in a
// wrong worker's rows, cannot hide as many that are missing.
func sumOfHits(s history.Share, n uint64) (sum uint64) {
	for i := range n {
		sum += mixed(s.Hit(i))
	}
	return sum
}

// mixed is a number's image under a permutation of all numbers that has no pattern.
//
// Source: Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014 (the variant of SplitMix64).
func mixed(k uint64) uint64 {
	k += 0x9e3779b97f4a7c15
	k = (k ^ k>>30) * 0xbf58476d1ce4e5b9
	k = (k ^ k>>27) * 0x94d049bb133111eb
	return k ^ k>>31
}

// schedules is how many schedules the load has: one, of which each worker sends its share, or in older records one for each worker.
func (t *Stats) schedules() int {
	if len(t.shares.all) > 0 {
		return 1
	}
	return len(t.workers)
}

// unshared reports hits of the plan that no row is there for, by the workers that had to send them: those of a worker that is lost, and of
// one that ended before the others. It also reports shares that together are not the plan.
func (t *Stats) unshared() (d verdict.Missing) {
	if t.shares.twice != "" {
		d.Add("%s was told more than once which share of the load to send", t.shares.twice)
	}
	all := t.shares.workers()
	for i, told := range all {
		switch {
		case len(all) != max(1, told.Workers):
			d.Add("the load was divided among %s, and the record has the shares of %d", prose.Count(max(1, told.Workers), "worker"), len(all))
		case told.Index != i:
			d.Add("no load worker of %d was told to send share %d of the load", len(all), i+1)
		default:
			continue
		}
		break
	}
	for _, told := range all {
		for _, lane := range told.Lanes {
			t.untold(told, lane, &d)
		}
	}
	return d
}

// untold reports the hits of a worker's lane that were due under load and are not in the record.
func (t *Stats) untold(told *history.LoadShare, lane history.LaneStart, d *verdict.Missing) {
	if t.windows == 0 {
		return // when the load ended is unknown, which is reported elsewhere
	}
	who, rows := told.Worker+" (load worker "+told.String()+")", t.rowsOf(told.Worker, lane.Lane).rows
	due := told.Below(lane.DueBefore(t.To))
	certain := told.Below(lane.DueBefore(t.To - t.shares.drift[told.Worker]))
	switch {
	case !t.hasTotals(told.Worker, lane.Lane):
		d.Add("%s is lost: of the %s that it had to send on %s until the load ended, the record has %d, so %d are unknown", who,
			prose.Count(due, "request"), lane.Lane, min(rows, due), due-min(rows, due))
	case rows < certain:
		d.Add("%s ended early: of the %s that it had to send on %s until the load ended, %d were not planned", who,
			prose.Count(due, "request"), lane.Lane, due-rows)
	}
}

func (t *Stats) hasTotals(worker string, lane history.Lane) bool {
	return slices.ContainsFunc(t.facts.Record.Events, func(e history.Event) bool {
		return e.Load != nil && e.Load.Worker == worker && e.Load.Lane == lane
	})
}
