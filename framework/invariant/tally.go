package invariant

import (
	"maps"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// Limits of a tally: its memory depends on the length of a run, and not on the number of requests.
const (
	maxWorkers = 1024
	maxLanes   = 16
	maxWindows = 24 * 3600 // a day under load; what comes later is counted in the last
)

// tally counts the requests of a record, in one pass for all promises: what was due when, what of it was sent, and
// whether every row is there.
type tally struct {
	facts    *facts
	from, to history.Offset // the time under load
	windows  int            // none when the time under load has no end
	plan     map[history.Lane]float64
	watch    *watch

	lanes   []*laneTally
	workers []workerTally
	victims *victims
	last    int    // the worker of the last row: rows of one worker come in runs
	beyond  bool   // there are more workers or lanes than are counted
	odd     string // what the first row says that cannot be
	err     error  // that ended the reading
}

// laneTally counts a lane under load, all workers together.
type laneTally struct {
	lane      history.Lane
	due, sent []uint32 // by window
	phases    [len(loaded)]delivery
	requests  uint64    // sent
	retried   uint64    // of these, by the gateway: its first try had failed
	inFlight  []uint64  // while each fault was on
	lag       durations // from when requests were due to when they were sent
	took      durations // how long good answers took while nothing was done yet
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
	lane         *laneTally
	rows, unsent uint64
	sent, failed uint64 // under load
	seqs         uint64 // the sum of Seq, which wraps around
	sends        sends
	due, skipped uint64 // in the time that is watched; skipped are unsent
}

func newTally(f *facts) *tally {
	t := &tally{facts: f, plan: make(map[history.Lane]float64), victims: newVictims(f)}
	t.from, t.to = f.underLoad()
	if plan := f.run.Header.Plan; plan != nil {
		for _, l := range plan.Lanes {
			t.plan[l.Lane] = l.RatePerSecond
		}
	}
	if _, ended := f.phases[history.Drained]; ended && t.to > t.from {
		t.windows = int(min((t.to-t.from)/loadWindow, maxWindows))
		t.windows = max(t.windows, 1)
	}
	t.watch = t.newWatch()
	return t
}

// take counts a request. It tells whether it was due under load.
func (t *tally) take(r *history.Request) bool {
	underLoad := r.Due >= t.from && r.Due < t.to
	row := t.row(r)
	if row == nil {
		t.beyond = true
		return underLoad
	}
	row.rows++
	row.seqs += r.Seq
	unsent := r.Outcome == history.Unsent
	if unsent {
		row.unsent++
	}
	if t.odd == "" {
		t.odd = oddRow(r)
	}
	if underLoad {
		t.count(row.lane, r, unsent)
		row.watch(t.watch, r, unsent)
		if !unsent {
			row.sent++
			if r.Outcome.Failed() {
				row.failed++
			}
		}
	}
	return underLoad
}

func (t *tally) count(lane *laneTally, r *history.Request, unsent bool) {
	if t.windows > 0 {
		// What is left of a window at the end belongs to the one before.
		w := max(0, min(int((r.Due-t.from)/loadWindow), t.windows-1))
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
	if loaded[which] == history.Steady && r.Outcome == history.OK {
		lane.took.add(r.Done - r.Sent)
	}
	lane.requests++
	lane.lag.add(r.Sent - r.Due)
	t.victims.take(r)
	if r.GatewayTries > 1 {
		lane.retried++
	}
	for i := range t.facts.faults {
		if fault := &t.facts.faults[i]; r.Done >= fault.Injecting.At && r.Sent <= fault.Healed.At {
			lane.inFlight[i]++
		}
	}
}

// phase under load in which a request was due, as an index of loaded.
func (t *tally) phase(due history.Offset) (i int) {
	for next := 1; next < len(loaded); next++ {
		if p, ok := t.facts.phases[loaded[next]]; ok && due >= p.From {
			i = next
		}
	}
	return i
}

// row finds where a request's worker and lane are counted; nil when there are too many.
func (t *tally) row(r *history.Request) *rowTally {
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
	w.lanes = append(w.lanes, rowTally{lane: lane, sends: t.watch.sends()})
	return &w.lanes[len(w.lanes)-1]
}

func (t *tally) worker(name string) int {
	i := slices.IndexFunc(t.workers, func(w workerTally) bool { return w.name == name })
	if i < 0 && len(t.workers) < maxWorkers {
		i = len(t.workers)
		t.workers = append(t.workers, workerTally{name: name})
	}
	return i
}

func (t *tally) lane(name history.Lane) *laneTally {
	if l := t.find(name); l != nil || len(t.lanes) == maxLanes {
		return l
	}
	l := &laneTally{
		lane: name, due: make([]uint32, t.windows), sent: make([]uint32, t.windows),
		inFlight: make([]uint64, len(t.facts.faults)),
	}
	t.lanes = append(t.lanes, l)
	t.facts.noise.took[name] = &l.took
	return l
}

func (t *tally) find(name history.Lane) *laneTally {
	for _, l := range t.lanes {
		if l.lane == name {
			return l
		}
	}
	return nil
}

// judged are the lanes that a promise is about: those it names, or all but the control lane, planned or seen; sorted.
func (t *tally) judged(named []history.Lane) []history.Lane {
	lanes := slices.Clone(named)
	if len(named) == 0 {
		for lane := range t.plan {
			lanes = append(lanes, lane)
		}
		for _, l := range t.lanes {
			lanes = append(lanes, l.lane)
		}
		lanes = slices.DeleteFunc(lanes, func(l history.Lane) bool { return l == history.LaneControl })
	}
	slices.Sort(lanes)
	return slices.Compact(lanes)
}

// requests is how many of a lane were sent under load.
func (t *tally) requests(lane history.Lane) uint64 {
	if l := t.find(lane); l != nil {
		return l.requests
	}
	return 0
}

// delivered doubts that the lanes got the load that was asked for, and that the record has all of it.
func (t *tally) delivered(lanes []history.Lane) (d doubts) {
	if t.err != nil {
		d.add("the requests could not be read to their end: %v", t.err)
	}
	if t.beyond {
		d.add("there are more than %d workers or %d lanes in the record", maxWorkers, maxLanes)
	}
	if t.odd != "" {
		d.add("%s", t.odd)
	}
	if len(lanes) == 0 {
		d.add("no load was planned, and none was sent")
	}
	var workers []string
	for _, w := range t.workers {
		workers = append(workers, w.name)
	}
	d = append(d, t.complete()...)
	d = append(d, t.facts.clocks(workers)...)
	for _, lane := range lanes {
		t.enough(lane, &d)
	}
	for _, lane := range lanes {
		d = append(d, t.blind(lane).doubts()...)
	}
	if t.find(history.LaneControl) != nil && !slices.Contains(lanes, history.LaneControl) {
		// It is sent by the same worker: where it is late, so may be the others.
		t.steady(history.LaneControl, &d)
	}
	return d
}

// complete doubts rows that do not agree with the workers' own totals.
func (t *tally) complete() (d doubts) {
	totals := make(map[string]bool) // of a worker and lane
	planned := make(map[history.Lane]bool)
	for _, e := range t.facts.run.Events {
		if e.Load != nil {
			totals[e.Load.Worker+" "+string(e.Load.Lane)] = true
			planned[e.Load.Lane] = true
			t.compare(*e.Load, &d)
		}
	}
	slices.Sort(d) // workers say so in any order
	for _, w := range t.workers {
		for _, row := range w.lanes {
			if !totals[w.name+" "+string(row.lane.lane)] {
				d.add("%s has no totals for lane %s in the record", w.name, row.lane.lane)
			}
		}
	}
	for _, lane := range slices.Sorted(maps.Keys(t.plan)) {
		if !planned[lane] {
			d.add("no worker has totals for lane %s, which was planned", lane)
		}
	}
	return d
}

func (t *tally) compare(total history.LoadTotals, d *doubts) {
	var row rowTally
	if i := slices.IndexFunc(t.workers, func(w workerTally) bool { return w.name == total.Worker }); i >= 0 {
		for _, l := range t.workers[i].lanes {
			if l.lane.lane == total.Lane {
				row = l
			}
		}
	}
	who := total.Worker + " on " + string(total.Lane)
	// Seq counts from 0, so that rows which are there twice cannot hide as many that are missing.
	var seqs uint64
	if n := total.Planned; n%2 == 0 {
		seqs = n / 2 * (n - 1)
	} else {
		seqs = n * ((n - 1) / 2)
	}
	switch {
	case total.Planned != total.Sent+total.Unsent:
		d.add("%s planned %d requests, sent %d and did not send %d", who, total.Planned, total.Sent, total.Unsent)
	case total.Planned != row.rows:
		d.add("%s planned %d requests, and the record has %d", who, total.Planned, row.rows)
	case total.Unsent != row.unsent:
		d.add("%s says it did not send %d requests, and the record has %d of those", who, total.Unsent, row.unsent)
	case row.seqs != seqs:
		d.add("%s has requests twice in the record, or under wrong numbers", who)
	}
}

// enough doubts a lane with too little load.
func (t *tally) enough(name history.Lane, d *doubts) {
	lane := t.find(name)
	if lane == nil {
		d.add("no request was sent on %s", name)
		return
	}
	if lane.requests < minRequests {
		d.add("%s were sent on %s, and fewer than %d say little", count(lane.requests, "request"), name, minRequests)
	}
	t.steady(name, d)
	for i, fault := range t.facts.faults {
		if fault.Injecting.OK && fault.Healed.OK && lane.inFlight[i] == 0 {
			d.add("no request was in flight on %s while %s was on", name, fault.Name)
		}
	}
}

// steady doubts a lane that was sent too little of what was due in some window, or that had too little due.
func (t *tally) steady(name history.Lane, d *doubts) {
	lane := t.find(name)
	unsent, undue := 0, 0
	var first string
	for w := range lane.due {
		at := t.from + history.Offset(w)*loadWindow
		length := loadWindow
		if w == len(lane.due)-1 {
			length = t.to - at
		}
		due, sent := float64(lane.due[w]), float64(lane.sent[w])
		// A window may begin just after a request was due, on each worker.
		planned := t.plan[name]*length.Seconds() - float64(len(t.workers))
		if sent < minDelivered*due {
			if unsent++; unsent == 1 {
				d.add("only %d of %s due on %s within %s from %s were sent",
					lane.sent[w], count(int(due), "request"), name, moment(length), moment(at))
			}
			continue
		}
		switch {
		case due < minDelivered*planned:
			if undue++; undue == 1 {
				first = moment(at)
			}
		case sent < minDelivered*planned: // each of the two is a little less than it should be
			if unsent++; unsent == 1 {
				d.add("only %s were sent on %s within %s from %s, and %.4g were planned",
					count(int(sent), "request"), name, moment(length), moment(at), t.plan[name]*length.Seconds())
			}
		}
	}
	if unsent == 0 {
		t.brief(lane, d)
	}
	if unsent > 1 {
		d.add("of %d windows under load, %d lacked requests on %s", len(lane.due), unsent, name)
	}
	if undue > 0 {
		d.add("%s was planned at %v requests a second, and had fewer due in %s of %s, the first from %s",
			name, t.plan[name], count(undue, "window"), moment(loadWindow), first)
	}
}

// brief doubts a phase that is so short that what was not sent in it hides in the windows around it.
func (t *tally) brief(lane *laneTally, d *doubts) {
	for i, n := range lane.phases {
		if n.due > n.sent+1 && float64(n.sent) < minDelivered*float64(n.due) {
			d.add("only %d of %s due on %s while %s were sent", n.sent, count(int(n.due), "request"), lane.lane, loaded[i])
		}
	}
}

// numbers measures the load of the lanes.
func (t *tally) numbers(v *Verdict, lanes []history.Lane) {
	var all, retried uint64
	for _, lane := range lanes {
		n := t.requests(lane)
		all += n
		v.measure("requests."+string(lane), float64(n))
		if l := t.find(lane); l != nil {
			retried += l.retried
			lagNumbers(&l.lag, v, lane)
			t.blind(lane).numbers(v)
		}
	}
	v.measure("requests", float64(all))
	if retried > 0 {
		v.measure("maskedByGateway", float64(retried))
	}
}

// lagNumbers tells how late the requests of a lane were sent.
func lagNumbers(d *durations, v *Verdict, lane history.Lane) {
	if d.n == 0 {
		return
	}
	v.measure("lagP50Seconds."+string(lane), d.quantile(0.5).Seconds())
	v.measure("lagP99Seconds."+string(lane), d.quantile(0.99).Seconds())
	v.measure("lagMaxSeconds."+string(lane), d.max.Seconds())
}

// read counts every request, and hands on those that were due under load.
func (t *tally) read(requests history.Requests, take func(*history.Request)) {
	if requests == nil {
		return
	}
	for r, err := range requests() {
		if err != nil {
			t.err = err
			return
		}
		if !t.take(r) {
			continue
		}
		for _, see := range t.facts.onRequest {
			see(r)
		}
		take(r)
	}
}
