package selftest

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/reports"
)

// flawless is a measurement without findings.
func flawless() *Instrument {
	row := OutageRow{Lanes: []string{"fresh", "reused"}, GapMilliseconds: 2.5, Requests: 40_000, Late: 6}
	for _, l := range []struct {
		ms   float64
		seen int
	}{{2, 79}, {5, 100}, {10, 98}} {
		row.Lengths = append(row.Lengths, OutageLength{
			Milliseconds: l.ms, Seen: NewRate(l.seen, max(98, l.seen)), Late: 2, Expected: min(1, l.ms/row.GapMilliseconds),
		})
	}
	row.Lengths[0].Seen = NewRate(79, 98)
	return &Instrument{
		Processors: 2, TookSeconds: 150, Outages: []OutageRow{row},
		Losses: []LossRow{{RatePerSecond: 1000, Every: 10_000, Requests: 110_000, Seen: NewRate(11, 11)}},
		Soak: &Soak{
			RatePerSecond: 2000, TookSeconds: 50, Planned: 100_000, Sent: 99_990, Unsent: 10, Rows: 100_000, LagP99Milliseconds: 0.4,
			LagMaxMilliseconds: 12, Verdict: "unknown", Seen: "no verdict: no fault was injected (and 1 more reason)",
		},
	}
}

// Findings distinguish what is wrong from what a busy machine prevents from being measured.
func TestInstrumentFindings(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*Instrument)
		want  reports.Result
		says  string
	}{
		"flawless":                               {func(*Instrument) {}, reports.Held, ""},
		"nothing at all":                         {func(i *Instrument) { *i = Instrument{} }, reports.Unknown, "nothing was measured"},
		"a short outage is missed, as it may be": {func(i *Instrument) { i.Outages[0].Lengths[0].Seen = NewRate(1, 98) }, reports.Held, ""},
		"a long one is missed": {
			func(i *Instrument) { i.Outages[0].Lengths[2].Seen = NewRate(97, 98) }, reports.Violated,
			"1 of 96 outages of 10 ms were missed by fresh and reused every 2.5 ms, though the worker was not late",
		},
		"a long one is missed while the worker stood still": {func(i *Instrument) {
			i.Outages[0].Lengths[2].Seen, i.Outages[0].Lengths[2].MissedLate = NewRate(97, 98), 1
		}, reports.Held, ""},
		"a failure without an outage": {
			func(i *Instrument) { i.Outages[0].FalseAlarms = 1 }, reports.Violated, "1 requests on fresh and reused every 2.5 ms failed without an outage",
		},
		"a short one is missed, and its requests are late by as much as it lasts": {func(i *Instrument) {
			i.Outages[0].GapMilliseconds, i.Outages[0].Lengths[0].Seen = 1, NewRate(97, 100)
		}, reports.Held, ""},
		"a reset request has no failed row": {
			func(i *Instrument) { i.Outages[0].Unrecorded = 1 }, reports.Violated,
			"1 requests on fresh and reused every 2.5 ms were reset by an outage and have no failed row",
		},
		"few outages count": {
			func(i *Instrument) { i.Outages[0].Lengths[1].Seen = NewRate(11, 11) }, reports.Unknown, "in only 9 outages of a length the worker on fresh and reused every 2.5 ms was not late",
		},
		"few count of those that are as short as timers are late": {func(i *Instrument) { i.Outages[0].Lengths[0].Seen = NewRate(1, 1) }, reports.Held, ""},
		"time-outs in between": {func(i *Instrument) { i.Outages[0].TimedOut = 4 }, reports.Unknown, "4 requests on fresh and reused every 2.5 ms timed out"},
		"a lost request is missed": {
			func(i *Instrument) { i.Losses[0].Seen = NewRate(10, 11) }, reports.Violated, "1 of 11 lost requests were missed at 1000 a second, and 0 failed that were not lost",
		},
		"a request that was not lost": {
			func(i *Instrument) { i.Losses[0].FalseAlarms = 2 }, reports.Violated, "0 of 11 lost requests were missed at 1000 a second, and 2 failed",
		},
		"few were lost":            {func(i *Instrument) { i.Losses[0].Seen = NewRate(2, 2) }, reports.Unknown, "only 2 requests were lost in all"},
		"time-outs, nothing lost":  {func(i *Instrument) { i.Losses[0].TimedOut = 2 }, reports.Unknown, "2 requests at 1000 a second timed out"},
		"rows are missing":         {func(i *Instrument) { i.Soak.Rows-- }, reports.Violated, "planned 99990 were sent and 10 unsent, and 99999 have rows"},
		"the counts do not add up": {func(i *Instrument) { i.Soak.Sent-- }, reports.Violated, "99989 were sent and 10 unsent"},
		"a good request failed": {
			func(i *Instrument) { i.Soak.Failed, i.Soak.Judged, i.Soak.Verdict = 1, 1, "violated" }, reports.Violated, "1 rows that failed otherwise than by time",
		},
		"the judgement counts otherwise": {func(i *Instrument) { i.Soak.Judged = 1 }, reports.Violated, "has 0 failed rows and no fault, and its verdict is unknown"},
		"held without evidence":          {func(i *Instrument) { i.Soak.Verdict = "held" }, reports.Violated, "its verdict is held"},
		"called Violated for time-outs": {
			func(i *Instrument) {
				i.Soak.Failed, i.Soak.TimedOut, i.Soak.Judged, i.Soak.Verdict = 5, 5, 5, "violated"
			}, reports.Violated, "the soak was called Violated",
		},
		"Unknown for time-outs": {
			func(i *Instrument) { i.Soak.Failed, i.Soak.TimedOut, i.Soak.Judged = 5, 5, 5 }, reports.Unknown, "5 of the soak's requests timed out",
		},
		"a soak that was not delivered": {
			func(i *Instrument) { i.Soak.Sent, i.Soak.Unsent = 94_000, 6_000 }, reports.Unknown, "6000 of the soak's 100000 requests were not sent",
		},
	} {
		i := flawless()
		test.spoil(i)
		wrong, unknown := i.Findings()
		all := slices.Concat(wrong, unknown)
		if got := i.Result(); got != test.want || len(all) == 0 != (test.want == reports.Held) || !strings.Contains(strings.Join(all, "\n"), test.says) {
			t.Errorf("%s: %s, wrong %q, unknown %q; want %s, %q", name, got, wrong, unknown, test.want, test.says)
		}
	}
}

// All outages of the shortest length and of all greater lengths were seen.
func TestShortest(t *testing.T) {
	row := flawless().Outages[0]
	if got := row.Shortest(); got != 5 {
		t.Errorf("%g ms, want 5", got)
	}
	row.Lengths[2].Seen, row.Lengths[2].MissedLate = NewRate(97, 98), 1
	if got := row.Shortest(); got != 0 {
		t.Errorf("one of 10 ms was missed while the worker stood still: %g ms, want none", got)
	}
	row.Lengths[2].Seen = NewRate(9, 9)
	if got := row.Shortest(); got != 0 {
		t.Errorf("few of 10 ms count: %g ms, want none", got)
	}
}
