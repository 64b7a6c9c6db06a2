package invariant_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// loadModel is a load that someone wrote down by hand: some lanes of 20 requests a second, of which now and then some
// fail, some are masked, some are never sent, and some are due when no load was asked for any more.
type loadModel struct {
	random *rand.Rand
	lanes  []history.Lane
	rows   map[history.Lane][]history.Request
}

func newLoadModel(seed uint64) *loadModel {
	m := &loadModel{random: rand.New(rand.NewPCG(seed, 5)), rows: make(map[history.Lane][]history.Request)}
	all := []history.Lane{history.LaneFresh, history.LaneReused, "stream", history.LaneControl}
	for _, lane := range all {
		if m.random.IntN(3) > 0 {
			m.lanes = append(m.lanes, lane)
			m.lane(lane)
		}
	}
	return m
}

// modelRate is how many requests a second each lane of a model has: one of twenty may be unsent.
const modelRate = 20

func (m *loadModel) lane(lane history.Lane) {
	// Most lanes are good; of a bad one, a few requests have an outcome of their own, one by one or in a row.
	outcomes := []history.Outcome{history.Reset, history.Masked, history.Unsent, history.Refused, history.Other, history.GoAway}
	bad := m.random.IntN(3) == 0
	burst, outcome := 0, history.OK
	for i := range uint64(35 * modelRate) { // until five seconds after the load has ended
		r := history.Request{Worker: ht.Worker, Lane: lane, Seq: i, Due: ht.SteadyAt + history.Offset(i)*second/modelRate, Outcome: history.OK}
		if burst == 0 && bad && m.random.IntN(100) == 0 {
			burst, outcome = 1+m.random.IntN(3), outcomes[m.random.IntN(len(outcomes))]
		}
		if burst > 0 {
			burst--
			r.Outcome = outcome
		}
		r.Done = r.Due + history.Offset(m.random.Int64N(int64(second)))
		if r.Outcome != history.Unsent {
			r.Sent, r.GatewayTries = r.Due+history.Offset(m.random.Int64N(int64(20*ms))), m.random.IntN(3)
			r.Done = max(r.Done, r.Sent)
		}
		m.rows[lane] = append(m.rows[lane], r)
	}
}

// count looks for requests under load.
func (m *loadModel) count(lane history.Lane, from, to history.Offset, is func(history.Request) bool) (n int) {
	for _, r := range m.rows[lane] {
		if r.Due >= from && r.Due < to && is(r) {
			n++
		}
	}
	return n
}

func due(history.Request) bool      { return true }
func sent(r history.Request) bool   { return r.Outcome != history.Unsent }
func failed(r history.Request) bool { return r.Outcome != history.OK && r.Outcome != history.Unsent }

// delivered is what the promise demands of the load of a lane, second by second.
func (m *loadModel) delivered(lane history.Lane) bool {
	for at := ht.SteadyAt; at < ht.DrainedAt; at += second {
		if n := m.count(lane, at, at+second, due); n < modelRate || 100*m.count(lane, at, at+second, sent) < 95*n {
			return false
		}
	}
	return true
}

// TestNoFailedRequestsModel counts again, in the plainest way.
func TestNoFailedRequestsModel(t *testing.T) {
	base := idle(ht.Healthy())
	seen := make(map[verdict.Outcome]int)
	for seed := range uint64(150) {
		m := newLoadModel(seed)
		var promise invariant.NoFailedRequests
		switch m.random.IntN(3) {
		case 0:
			promise.Lanes = []history.Lane{history.LaneFresh}
		case 1:
			promise.Lanes = []history.Lane{history.LaneControl, history.LaneReused}
		}
		run := base
		run.Header.Plan = &history.Plan{Aside: true} // no row names a pod
		for _, lane := range m.lanes {
			run.Header.Plan.Lanes = append(run.Header.Plan.Lanes, history.LanePlan{Lane: lane, RatePerSecond: modelRate})
		}
		if err := m.compare(promise, judge.Check(withRows(run, slices.Concat(slices.Collect(maps.Values(m.rows))...)), promise), seen); err != nil {
			t.Errorf("seed %d, lanes %v, %s: %v", seed, m.lanes, promise, err)
		}
	}
	for _, o := range []verdict.Outcome{verdict.Held, verdict.Violated, verdict.Unknown} {
		if seen[o] < 20 {
			t.Errorf("only %d of 150 were %s: the model proves little", seen[o], o)
		}
	}
}

func (m *loadModel) compare(p invariant.NoFailedRequests, got verdict.Verdict, seen map[verdict.Outcome]int) error {
	judged := slices.Clone(p.Lanes)
	if len(judged) == 0 {
		judged = slices.DeleteFunc(slices.Clone(m.lanes), func(l history.Lane) bool { return l == history.LaneControl })
	}
	want := verdict.Held
	failures, requests := 0, 0
	var first history.Offset
	enough, began := len(judged) > 0, ht.InjectingAt
	for _, lane := range judged {
		failures += m.count(lane, ht.SteadyAt, ht.DrainedAt, failed)
		requests += m.count(lane, ht.SteadyAt, ht.DrainedAt, sent)
		enough = enough && slices.Contains(m.lanes, lane) && m.delivered(lane)
		for _, r := range m.rows[lane] {
			if r.Due < ht.DrainedAt && failed(r) && r.Done >= began && (first == 0 || r.Sent < first) {
				first = r.Sent
			}
		}
	}
	if slices.Contains(m.lanes, history.LaneControl) {
		enough = enough && m.delivered(history.LaneControl) // where the harness starves, all lanes do
	}
	switch {
	case first > 0:
		want = verdict.Violated
	case !enough || failures > 0: // the latter before anything was disturbed
		want = verdict.Unknown
	}
	seen[got.Outcome]++
	if got.Outcome != want || got.Numbers["failed"] != float64(failures) || got.Numbers["requests"] != float64(requests) || got.At != first {
		return fmt.Errorf("%s at %s with %v of %v failed, want %s at %s with %d of %d: %s",
			got.Outcome, got.At, got.Numbers["failed"], got.Numbers["requests"], want, first, failures, requests, got.Seen)
	}
	return nil
}
