package requests

import (
	"maps"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// Delivered reports lanes that did not get the planned load, and rows that are missing in the record.
func (t *Stats) Delivered(lanes []history.Lane) (d verdict.Missing) {
	if t.Err != nil {
		d.Add("the requests could not be read to their end: %v", t.Err)
	}
	d = append(d, t.uncounted()...)
	if len(lanes) == 0 {
		d.Add("no load was planned or sent")
	}
	var workers []string
	for _, w := range t.workers {
		workers = append(workers, w.name)
	}
	if !t.Part {
		d = append(d, t.complete()...)
	}
	d = append(d, t.facts.Clocks(workers)...)
	for _, lane := range lanes {
		t.enough(lane, &d)
	}
	for _, lane := range lanes {
		d = append(d, t.blind(lane).doubts()...)
		if l := t.Find(lane); l != nil && l.atEdge > 0 {
			d.Add("%s on %s failed within %s of the beginning or the end of the load, and the clocks of the load workers are not known more precisely",
				prose.Count(l.atEdge, "request"), lane, t.facts.ClockError().Round(time.Microsecond))
		}
	}
	if t.Find(history.LaneControl) != nil && !slices.Contains(lanes, history.LaneControl) {
		// The same worker sends the control lane: where that is late, the other lanes may be late, too.
		t.steady(history.LaneControl, &d)
	}
	return d
}

// complete reports rows that disagree with the workers' own totals.
func (t *Stats) complete() (d verdict.Missing) {
	totals := make(map[string]bool) // by worker and lane
	planned := make(map[history.Lane]bool)
	for _, e := range t.facts.Record.Events {
		if e.Load != nil {
			totals[e.Load.Worker+" "+string(e.Load.Lane)] = true
			planned[e.Load.Lane] = true
			t.compare(*e.Load, &d)
		}
	}
	slices.Sort(d) // the totals come in any order
	d = append(d, t.unshared()...)
	for _, w := range t.workers {
		for _, row := range w.lanes {
			if !totals[w.name+" "+string(row.lane.lane)] && !t.shares.lost(w.name, row.lane.lane, totals) && !t.shares.ended[w.name] {
				d.Add("%s has no totals for lane %s in the record", w.name, row.lane.lane)
			}
		}
	}
	for _, lane := range slices.Sorted(maps.Keys(t.plan)) {
		if !planned[lane] {
			d.Add("no worker has totals for lane %s, which was planned", lane)
		}
	}
	return d
}

func (t *Stats) compare(total history.LoadTotals, d *verdict.Missing) {
	row := t.rowsOf(total.Worker, total.Lane)
	who := total.Worker + " on " + string(total.Lane)
	switch {
	case total.Planned != total.Sent+total.Unsent:
		d.Add("%s planned %d requests, sent %d and did not send %d", who, total.Planned, total.Sent, total.Unsent)
	case total.Planned != row.rows:
		d.Add("%s planned %d requests, but the record has %d", who, total.Planned, row.rows)
	case total.Unsent != row.unsent:
		d.Add("%s says it did not send %d requests, but the record has %d unsent requests", who, total.Unsent, row.unsent)
	case row.hits != sumOfHits(t.shares.of(total.Worker), total.Planned):
		d.Add("%s has duplicate or misnumbered requests in the record", who)
	}
}

// rowsOf counts the rows of a worker's lane.
func (t *Stats) rowsOf(worker string, lane history.Lane) (row rowTally) {
	for _, w := range t.workers {
		if w.name != worker {
			continue
		}
		for _, l := range w.lanes {
			if l.lane.lane == lane {
				return l
			}
		}
	}
	return row
}

// enough reports a lane with too little load.
func (t *Stats) enough(name history.Lane, d *verdict.Missing) {
	lane := t.Find(name)
	if lane == nil {
		d.Add("no request was sent on %s", name)
		return
	}
	if lane.requests < evidence.MinRequests {
		d.Add("%s were sent on %s, and at least %d are needed", prose.Count(lane.requests, "request"), name, evidence.MinRequests)
	}
	t.steady(name, d)
	for i, fault := range t.facts.Faults {
		if fault.Injecting.OK && fault.Healed.OK && lane.InFlight[i] == 0 {
			d.Add("no request was in flight on %s while %s was active", name, fault.Name)
		}
	}
}

// steady reports a lane with a window in which too few of the due requests were sent, or too few were due.
func (t *Stats) steady(name history.Lane, d *verdict.Missing) {
	lane := t.Find(name)
	unsent, undue := 0, 0
	var first string
	for w := range lane.due {
		at := t.from + history.Offset(w)*evidence.LoadWindow
		length := evidence.LoadWindow
		if w == len(lane.due)-1 {
			length = t.To - at
		}
		due, sent := float64(lane.due[w]), float64(lane.sent[w])
		// A window may begin just after a request was due, for each schedule.
		planned := t.plan[name]*length.Seconds() - float64(t.schedules())
		if sent < evidence.MinDelivered*due {
			if unsent++; unsent == 1 {
				d.Add("only %d of %s due on %s within %s from %s were sent",
					lane.sent[w], prose.Count(int(due), "request"), name, prose.Moment(length), prose.Moment(at))
			}
			continue
		}
		switch {
		case due < evidence.MinDelivered*planned:
			if undue++; undue == 1 {
				first = prose.Moment(at)
			}
		case sent < evidence.MinDelivered*planned: // both are slightly too low
			if unsent++; unsent == 1 {
				d.Add("only %s were sent on %s within %s from %s, but %.4g were planned",
					prose.Count(int(sent), "request"), name, prose.Moment(length), prose.Moment(at), t.plan[name]*length.Seconds())
			}
		}
	}
	if unsent == 0 {
		t.brief(lane, d)
	}
	if unsent > 1 {
		d.Add("of %d windows under load, %d lacked requests on %s", len(lane.due), unsent, name)
	}
	if undue > 0 {
		d.Add("%s was planned at %v requests a second, but had fewer due in %s of %s, the first from %s",
			name, t.plan[name], prose.Count(undue, "window"), prose.Moment(evidence.LoadWindow), first)
	}
}

// brief reports unsent requests in a phase that is too short to show in a window.
func (t *Stats) brief(lane *LaneTally, d *verdict.Missing) {
	for i, n := range lane.phases {
		if n.due > n.sent+1 && float64(n.sent) < evidence.MinDelivered*float64(n.due) {
			d.Add("only %d of %s due on %s while %s were sent", n.sent, prose.Count(int(n.due), "request"), lane.lane, loaded[i])
		}
	}
}

// Whole reports rows that are missing in the record, or that could not be counted.
func (t *Stats) Whole() verdict.Missing { return append(t.uncounted(), t.complete()...) }

// uncounted reports rows that could not be counted.
func (t *Stats) uncounted() (d verdict.Missing) {
	if t.beyond {
		d.Add("the record has more than %d workers or %d lanes", MaxWorkers, MaxLanes)
	}
	if t.odd != "" {
		d.Add("%s", t.odd)
	}
	return d
}
