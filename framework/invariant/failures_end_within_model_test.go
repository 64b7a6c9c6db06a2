package invariant_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// outageModel is a load over six servers of which some die, at moments and for times of its own choice.
type outageModel struct {
	random *rand.Rand
	limit  history.Offset
	deaths []death
	ready  map[string]bool // whether a server's endpoint was, all the time
	rows   []history.Request
}

// death is one fault.
type death struct {
	from, seen, undone history.Offset
	victim             string
	over               history.Offset // requests that are sent from then on no longer fail

	first, last history.Offset // when it may have died, as answers tell; see outageModel.died
}

func newOutageModel(seed uint64) *outageModel {
	m := &outageModel{random: rand.New(rand.NewPCG(seed, 7)), ready: make(map[string]bool)}
	m.limit = second + m.upTo(4*second)
	for i := range 6 {
		m.ready[fmt.Sprintf("w%d", i+1)] = m.random.IntN(10) > 0
	}
	nodes := m.random.Perm(6)
	for i := range 1 + m.random.IntN(3) {
		d := death{from: 16*second + m.upTo(8*second), victim: fmt.Sprintf("w%d", nodes[i]+1)}
		d.seen = d.from + m.upTo(second)
		d.undone = 33*second + m.upTo(second)
		d.over = d.from + 20*ms + history.Offset(float64(m.limit)*(0.2+0.8*m.random.Float64()))
		switch m.random.IntN(12) {
		case 0:
			d.over += m.limit / 2 // which is too late, most often
		case 1:
			d.undone = d.seen + m.upTo(2*m.limit)
		}
		m.deaths = append(m.deaths, d)
	}
	m.load()
	for i := range m.deaths {
		m.died(&m.deaths[i])
	}
	return m
}

func (m *outageModel) upTo(d history.Offset) history.Offset {
	return history.Offset(m.random.Int64N(int64(d)))
}

// load sends a hundred requests a second, each to a random server. Those to the dead fail, and so does now and then a
// whole stretch of them, whoever they go to; of some such stretches it is not known.
func (m *outageModel) load() {
	burst, astray := -second, m.random.IntN(2) == 0
	if m.random.IntN(4) == 0 {
		burst = 11*second + m.upTo(20*second)
	}
	length := m.upTo(400 * ms)
	for i := range uint64(30 * 100) {
		r := history.Request{
			Worker: ht.Worker, Lane: history.LaneFresh, Seq: i, Due: ht.SteadyAt + history.Offset(i)*10*ms, Outcome: history.OK,
		}
		n := 1 + m.random.IntN(6)
		r.Pod, r.Node = fmt.Sprintf("backend-%d", n), fmt.Sprintf("w%d", n)
		r.Sent = r.Due + m.upTo(3*ms)
		r.Done = r.Sent + m.upTo(30*ms)
		for _, d := range m.deaths {
			if d.victim == r.Node && r.Done >= d.from+20*ms && r.Sent < d.over {
				r.Outcome, r.Inferred = history.TimeoutConnect, true
				r.Done = max(r.Done, d.from+m.upTo(2*second))
			}
		}
		if r.Sent >= burst && r.Sent < burst+length && m.random.IntN(3) == 0 {
			r.Outcome, r.Inferred = history.Reset, true
			if astray {
				r.Pod, r.Node = "", ""
			}
		}
		m.rows = append(m.rows, r)
	}
}

// Base writes down what happened.
func (m *outageModel) record(base history.Run) history.Run {
	run := base
	run.Events = slices.Clone(base.Events)
	for i, d := range m.deaths {
		for _, s := range []struct {
			at    history.Offset
			stage history.FaultStage
		}{{d.from, history.Injecting}, {d.seen, history.Seen}, {d.undone, history.Healing}, {34500 * ms, history.Healed}} {
			mark := history.FaultMark{ID: i, Name: "kill " + d.victim, Stage: s.stage, Nodes: []string{d.victim}}
			run.Events = append(run.Events, history.Event{T: s.at, Fault: &mark})
		}
		alive, dead := ht.ReadyNode(d.victim, ""), ht.ReadyNode(d.victim, "")
		dead.Ready = "Unknown"
		run.Events = append(run.Events, history.Event{T: 3 * second, Node: &alive}, history.Event{T: d.from, Node: &dead})
	}
	slice := sliceOf(1, 2, 3, 4, 5, 6)
	for i := range slice.Endpoints {
		slice.Endpoints[i].Ready = m.ready[slice.Endpoints[i].Node]
	}
	run.Events = append(run.Events, history.Event{T: 3 * second, Slice: &slice})
	slices.SortStableFunc(run.Events, func(a, b history.Event) int { return cmp.Compare(a.T, b.T) })
	return withRows(run, m.rows)
}

// span is a time in which failures may be allowed, with all who die in it.
type span struct {
	from, to history.Offset
	deaths   []death
}

// spans joins what overlaps, one after the other until nothing does.
func (m *outageModel) spans() []span {
	var all []span
	for _, d := range m.deaths {
		all = append(all, span{d.from, d.seen + m.limit, []death{d}})
	}
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for i := 0; i+1 < len(all); {
		if a, b := all[i], all[i+1]; b.from < a.to {
			all[i] = span{a.from, max(a.to, b.to), append(a.deaths, b.deaths...)}
			all = slices.Delete(all, i+1, i+2)
			continue
		}
		i++
	}
	return all
}

// clockError is how precisely withRows says that the worker's clock is known.
const clockError = ms

// died finds the first and the last moment at which a server may have died, as its answers tell.
func (m *outageModel) died(d *death) {
	first := d.from
	for _, r := range m.rows {
		if r.Node == d.victim && !failed(r) && r.Done >= d.from && r.Done <= d.seen {
			first = max(first, r.Done)
		}
	}
	last := d.seen
	for _, r := range m.rows {
		at := r.Sent
		if r.Outcome == history.Reset {
			at = r.Done
		}
		if (r.Node == d.victim || r.Node == "") && failed(r) && at >= first {
			last = min(last, at)
		}
	}
	d.first, d.last = first, max(first, last)
}

// judge restates the promise.
func (m *outageModel) judge() (want verdict.Outcome, at history.Offset) {
	all := m.spans()
	var late, innocent *history.Request // the first that failed when none may, and of those that failed though nobody touched them
	known := true
	for i := range m.rows {
		r := &m.rows[i]
		if !failed(*r) {
			continue
		}
		if !slices.ContainsFunc(m.deaths, func(d death) bool { return r.Done >= d.from-clockError }) { // nothing was disturbed yet
			known = false
			continue
		}
		allowed, unsure, mine, other := false, false, false, false
		for _, s := range all {
			if r.Done < s.from-clockError || r.Sent >= s.to+2*clockError {
				continue
			}
			for _, d := range s.deaths {
				begun := r.Done >= d.from-clockError // as far as the worker's clock tells
				if begun && (r.Node == d.victim || r.Node == "") {
					mine = true
					allowed = allowed || r.Done >= d.from+clockError && r.Sent < d.first+m.limit-2*clockError
					unsure = unsure || r.Sent < d.last+m.limit+2*clockError
				}
				other = other || begun && r.Sent < d.last+m.limit+2*clockError
			}
		}
		switch {
		case allowed:
		case mine && unsure:
			known = false
		case !mine && other:
			if innocent == nil || r.Sent < innocent.Sent {
				innocent = r
			}
		case late == nil || r.Sent < late.Sent:
			late = r
		}
	}
	if late != nil {
		return verdict.Violated, late.Sent
	}
	if innocent != nil {
		return verdict.Violated, innocent.Sent
	}
	for i, s := range all {
		ready, dead := 0, 0
		for node, is := range m.ready {
			if is {
				ready++
				if slices.ContainsFunc(s.deaths, func(d death) bool { return d.victim == node }) {
					dead++
				}
			}
		}
		if dead == 0 {
			known = false
			continue
		}
		if at, blamed := m.blamed(all, i, float64(dead)/float64(ready)); blamed {
			return verdict.Violated, at
		}
	}
	for _, d := range m.deaths {
		known = known && d.undone >= d.first+m.limit
	}
	if !known {
		return verdict.Unknown, 0
	}
	return verdict.Held, 0
}

// blamed tells whether more of a span's requests failed, from the first that did to the last, than chance allows.
func (m *outageModel) blamed(all []span, which int, share float64) (at history.Offset, blamed bool) {
	s := all[which]
	var steps []history.Offset // of its requests: hundredths of a second, as they are counted
	var bad []history.Offset
	for _, r := range m.rows {
		mine := slices.IndexFunc(all, func(s span) bool { return r.Done >= s.from && r.Sent < s.to })
		if mine != which {
			continue
		}
		sent := max(r.Sent, s.from)
		steps = append(steps, (sent-s.from)/(10*ms))
		if failed(r) {
			bad = append(bad, sent)
		}
	}
	if len(bad) == 0 {
		return 0, false
	}
	from, to := (slices.Min(bad)-s.from)/(10*ms), (slices.Max(bad)-s.from)/(10*ms)
	n := 0
	for _, step := range steps {
		if step >= from && step <= to {
			n++
		}
	}
	return slices.Min(bad), n > 2 && len(bad) > min(n, 2+believable(n-2, share))
}

// believable is the most of n that is not rarer than one in a thousand, found by adding the probabilities up.
func believable(n int, p float64) int {
	if p >= 1 {
		return n
	}
	exactly := math.Pow(1-p, float64(n)) // k of n, beginning with none
	more := 1 - exactly                  // more than k
	k := 0
	for k < n && more >= 0.001 {
		exactly *= float64(n-k) / float64(k+1) * p / (1 - p)
		k++
		more -= exactly
	}
	return k
}

// TestFailuresEndWithinModel lets servers die and judges what became of the requests in the plainest way.
func TestFailuresEndWithinModel(t *testing.T) {
	base := idle(killed().DropEvents(func(e history.Event) bool { return e.Fault != nil || e.Node != nil || e.Slice != nil }).
		Header(func(h *history.Header) {
			h.Plan = &history.Plan{Lanes: []history.LanePlan{{Lane: history.LaneFresh, RatePerSecond: 100}}}
		}))
	seen := make(map[verdict.Outcome]int)
	for seed := range uint64(200) {
		m := newOutageModel(seed)
		got := judge.Check(m.record(base), invariant.FailuresEndWithin{Limit: m.limit})
		want, at := m.judge()
		if got.Outcome != want || got.At != at {
			t.Errorf("seed %d: %s at %s, want %s at %s: %s %q", seed, got.Outcome, got.At, want, at, got.Seen, got.Evidence)
		}
		seen[got.Outcome]++
	}
	for _, o := range []verdict.Outcome{verdict.Held, verdict.Violated, verdict.Unknown} {
		if seen[o] < 15 {
			t.Errorf("only %d of 200 were %s: the model proves little", seen[o], o)
		}
	}
}
