package invariant_test

import (
	"cmp"
	"iter"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
)

// withRows is a record with these requests of one worker instead of its own, and what the worker says of them. Models
// play many records: this builds none anew.
func withRows(run history.Run, rows []history.Request) history.Run {
	slices.SortStableFunc(rows, func(a, b history.Request) int { return cmp.Compare(a.Done, b.Done) })
	run.Requests = func() iter.Seq2[*history.Request, error] {
		return func(yield func(*history.Request, error) bool) {
			for i := range rows {
				row := rows[i]
				if !yield(&row, nil) {
					return
				}
			}
		}
	}
	totals := make(map[history.Lane]*history.LoadTotals)
	end := run.Events[len(run.Events)-1].T
	events := append(slices.Clone(run.Events), history.Event{T: end, Clock: &history.Clock{Worker: ht.Worker, Uncertainty: ms}})
	for i := range rows {
		t := totals[rows[i].Lane]
		if t == nil {
			t = &history.LoadTotals{Worker: ht.Worker, Lane: rows[i].Lane}
			totals[rows[i].Lane] = t
			events = append(events, history.Event{T: end, Load: t})
		}
		t.Planned++
		if rows[i].Outcome == history.Unsent {
			t.Unsent++
		} else {
			t.Sent++
		}
	}
	run.Events = events
	return run
}

// idle is a record without requests, which withRows gives some.
func idle(b *ht.Builder) history.Run {
	return b.DropRequests(func(history.Request) bool { return true }).WithoutTotals().Run()
}
