package invariant_test

import (
	"cmp"
	"iter"
	"slices"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
)

// withRows is a record with these requests instead of its own, and what their workers say of them. Models play many records:
// this builds none anew.
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
	type lane struct {
		worker string
		name   history.Lane
	}
	totals, clocks := make(map[lane]*history.LoadTotals), make(map[string]bool)
	end := run.Events[len(run.Events)-1].T
	events := slices.DeleteFunc(slices.Clone(run.Events), func(e history.Event) bool { return e.Load != nil || e.Clock != nil })
	for i := range rows {
		of := lane{rows[i].Worker, rows[i].Lane}
		if !clocks[of.worker] {
			clocks[of.worker] = true
			events = append(events, history.Event{T: end, Clock: &history.Clock{Worker: of.worker, Uncertainty: ms}})
		}
		t := totals[of]
		if t == nil {
			t = &history.LoadTotals{Worker: of.worker, Lane: of.name}
			totals[of] = t
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

// rowsOf are a record's requests, to be edited.
func rowsOf(t testing.TB, run history.Run) (rows []history.Request) {
	t.Helper()
	for r, err := range run.Requests() {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, *r)
	}
	return rows
}

// idle is a record without requests, which withRows gives some.
func idle(b *ht.Builder) history.Run {
	return b.DropRequests(func(history.Request) bool { return true }).WithoutTotals().Run()
}
