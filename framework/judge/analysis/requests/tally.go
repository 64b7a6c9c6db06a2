package requests

import (
	"cmp"
	"maps"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/base/stats"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// Limits of the counters. Their memory depends on the length of a run, and not on the number of requests.
const (
	MaxWorkers = history.MaxLoadWorkers
	MaxLanes   = 16
	maxWindows = 24 * 3600 // a day under load; later requests count in the last window
)

// Stats counts the requests of a record in one pass for all promises: how many were due, when, how many of them were sent, and
// whether every row is there.
type Stats struct {
	facts    *evidence.Run
	from, To history.Offset // the time under load
	windows  int            // zero if the time under load has no end
	plan     map[history.Lane]float64
	Watch    *Watch
	// Part says that the requests are a part of those of a record. Whether all of the record's are there is judged of the whole.
	Part    bool
	watched int    // lanes of workers so far
	shares  shares // what each worker was told to send

	lanes   []*LaneTally
	workers []workerTally
	victims *victims
	last    int    // the worker of the last row; rows of one worker are adjacent
	beyond  bool   // the record has more workers or lanes than are counted
	odd     string // the first contradiction in a row
	Err     error  // the error that ended the reading
}

// LaneTally counts a lane under load, of all workers.
type LaneTally struct {
	lane      history.Lane
	due, sent []uint32 // by window
	phases    [len(loaded)]delivery
	requests  uint64          // sent
	retried   uint64          // of the sent ones, those that the gateway tried more than once
	InFlight  []uint64        // requests in flight during each fault
	lag       stats.Durations // time from due to sent
	sends     sends
	atEdge    uint64 // failed so near to the beginning or the end of the load that clocks do not tell whether they count
}

// delivery of requests: how many were due, and sent.
type delivery struct{ due, sent uint64 }

// loaded are the phases under load, in order.
var loaded = [...]history.PhaseName{history.Steady, history.Disturbed, history.Recovered}

// workerTally counts all rows of a worker, under load or not.
type workerTally struct {
	name  string
	lanes []rowTally
}

type rowTally struct {
	lane         *LaneTally
	rows, unsent uint64
	sent, failed uint64 // under load
	hits         uint64 // the sum of the mixed Seqs, which wraps around
	sends        sends  // in steps of the watch
	watched      *Watch
	due, skipped uint64 // in the time that is watched; skipped are unsent
}

// NewTally returns figures without requests, by the plan of the record.
func NewTally(f *evidence.Run) *Stats {
	t := &Stats{facts: f, plan: make(map[history.Lane]float64), victims: newVictims(f)}
	t.from, t.To = f.UnderLoad()
	if plan := f.Record.Header.Plan; plan != nil {
		for _, l := range plan.Lanes {
			t.plan[l.Lane] = l.RatePerSecond
		}
	}
	if _, ended := f.Phases[history.Drained]; ended && t.To > t.from {
		t.windows = int(min((t.To-t.from)/evidence.LoadWindow, maxWindows))
		t.windows = max(t.windows, 1)
	}
	t.Watch = t.newWatch()
	t.shares = sharesOf(f.Record)
	return t
}

// take counts a request, and says whether it was due under load.
func (t *Stats) take(r *history.Request) bool {
	underLoad := r.Due >= t.from && r.Due < t.To
	row := t.row(r)
	if row == nil {
		t.beyond = true
		return underLoad
	}
	row.rows++
	row.hits += mixed(r.Seq)
	unsent := r.Outcome == history.Unsent
	if unsent {
		row.unsent++
	}
	t.odd = cmp.Or(t.odd, evidence.Contradiction(r))
	if underLoad {
		t.count(row.lane, r, unsent)
		t.watch(row, r, unsent)
		if !unsent {
			row.sent++
			if r.Outcome.Failed() {
				row.failed++
			}
		}
	}
	if !underLoad && r.Outcome.Failed() && t.nearEdge(r.Due) {
		row.lane.atEdge++
	}
	return underLoad
}

// nearEdge reports whether a moment outside of the time under load may lie in it.
func (t *Stats) nearEdge(due history.Offset) bool {
	off := t.facts.ClockError()
	return t.windows > 0 && due >= t.from-off && due < t.To+off
}

func (t *Stats) count(lane *LaneTally, r *history.Request, unsent bool) {
	if t.windows > 0 {
		// What is left of a window at the end belongs to the one before.
		w := max(0, min(int((r.Due-t.from)/evidence.LoadWindow), t.windows-1))
		lane.due[w]++
		if !unsent {
			lane.sent[w]++
		}
	}
	which := t.phase(r.Due)
	phase := &lane.phases[which]
	phase.due++
	if unsent {
		return
	}
	phase.sent++
	lane.requests++
	lane.lag.Add(r.Sent - r.Due)
	t.victims.take(r)
	if r.GatewayTries > 1 {
		lane.retried++
	}
	for i := range t.facts.Faults {
		if fault := &t.facts.Faults[i]; r.Done >= fault.Injecting.At && r.Sent <= fault.Healed.At {
			lane.InFlight[i]++
		}
	}
}

// phase under load in which a request was due, as an index of loaded.
func (t *Stats) phase(due history.Offset) (i int) {
	for next := 1; next < len(loaded); next++ {
		if p, ok := t.facts.Phases[loaded[next]]; ok && due >= p.From {
			i = next
		}
	}
	return i
}

// row finds the counters of a request's worker and lane; nil when there are too many workers or lanes.
func (t *Stats) row(r *history.Request) *rowTally {
	if t.last >= len(t.workers) || t.workers[t.last].name != r.Worker {
		if t.last = t.worker(r.Worker); t.last < 0 {
			t.last = 0
			return nil
		}
	}
	w := &t.workers[t.last]
	for i := range w.lanes {
		if w.lanes[i].lane.lane == r.Lane {
			return &w.lanes[i]
		}
	}
	lane := t.lane(r.Lane)
	if lane == nil {
		return nil
	}
	row := rowTally{lane: lane}
	row.sends, row.watched = t.workerSends()
	w.lanes = append(w.lanes, row)
	return &w.lanes[len(w.lanes)-1]
}

func (t *Stats) worker(name string) int {
	i := slices.IndexFunc(t.workers, func(w workerTally) bool { return w.name == name })
	if i < 0 && len(t.workers) < MaxWorkers {
		i = len(t.workers)
		t.workers = append(t.workers, workerTally{name: name})
	}
	return i
}

func (t *Stats) lane(name history.Lane) *LaneTally {
	if l := t.Find(name); l != nil || len(t.lanes) == MaxLanes {
		return l
	}
	l := &LaneTally{
		lane: name, due: make([]uint32, t.windows), sent: make([]uint32, t.windows),
		InFlight: make([]uint64, len(t.facts.Faults)), sends: t.Watch.empty(),
	}
	t.lanes = append(t.lanes, l)
	return l
}

// Find returns the figures of a lane; nil: it had no request.
func (t *Stats) Find(name history.Lane) *LaneTally {
	for _, l := range t.lanes {
		if l.lane == name {
			return l
		}
	}
	return nil
}

// Judged are the lanes that a promise is about, sorted: those that it names, or all planned or seen lanes except for the control
// lane.
func (t *Stats) Judged(named []history.Lane) []history.Lane {
	lanes := slices.Clone(named)
	if len(named) == 0 {
		lanes = slices.Collect(maps.Keys(t.plan))
		for _, l := range t.lanes {
			lanes = append(lanes, l.lane)
		}
		lanes = slices.DeleteFunc(lanes, func(l history.Lane) bool { return l == history.LaneControl })
	}
	slices.Sort(lanes)
	return slices.Compact(lanes)
}

// Requests is the number of requests that were sent on a lane under load.
func (t *Stats) Requests(lane history.Lane) uint64 {
	if l := t.Find(lane); l != nil {
		return l.requests
	}
	return 0
}

// Numbers adds the load of the lanes to a verdict.
func (t *Stats) Numbers(v *verdict.Verdict, lanes []history.Lane) {
	var all, retried uint64
	for _, lane := range lanes {
		n := t.Requests(lane)
		all += n
		v.Measure("requests."+string(lane), float64(n))
		if l := t.Find(lane); l != nil {
			retried += l.retried
			lagNumbers(&l.lag, v, lane)
			t.blind(lane).numbers(v)
		}
	}
	v.Measure("requests", float64(all))
	if retried > 0 {
		v.Measure("maskedByGateway", float64(retried))
	}
	// Load that is missing on a saturated machine may be there in a second run.
	if slowed, why := t.facts.Slowed(t.Watch.From, t.Watch.To); slowed > 0 {
		why.Count(v, uint64(len(t.Starved(lanes))))
	}
}

// lagNumbers adds how late the requests of a lane were sent.
func lagNumbers(d *stats.Durations, v *verdict.Verdict, lane history.Lane) {
	if d.N == 0 {
		return
	}
	v.Measure("lagP50Seconds."+string(lane), d.Quantile(0.5).Seconds())
	v.Measure("lagP99Seconds."+string(lane), d.Quantile(0.99).Seconds())
	v.Measure("lagMaxSeconds."+string(lane), d.Max.Seconds())
}

// Read counts every request, and passes on those that were due under load.
func (t *Stats) Read(requests history.Requests, take func(*history.Request)) {
	if requests == nil {
		return
	}
	for r, err := range requests() {
		if err != nil {
			t.Err = err
			return
		}
		if t.See(r) {
			take(r)
		}
	}
}

// See counts a request, and says whether it was due under load. Read does so with all requests of a record.
func (t *Stats) See(r *history.Request) bool {
	if !t.take(r) {
		return false
	}
	for _, see := range t.facts.OnRequest {
		see(r)
	}
	return true
}
