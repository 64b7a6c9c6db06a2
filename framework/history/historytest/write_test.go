package historytest_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
)

func TestWhatIsWrittenIsWhatRunReturns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "chaos", "drain")
	b := historytest.Healthy().Fail(history.LaneReused, historytest.SeenAt, historytest.GoneAt, history.Reset)
	if err := b.Write(dir); err != nil {
		t.Fatal(err)
	}
	want := b.Run()
	got, err := history.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got.Incomplete != "" {
		t.Errorf("incomplete: %s", got.Incomplete)
	}
	events := slices.DeleteFunc(got.Events, func(e history.Event) bool { return e.Segment != nil || e.End != nil })
	if diff := cmp.Diff(want.Events, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if wantRows, gotRows := rows(t, want), rows(t, got); !slices.Equal(wantRows, gotRows) {
		t.Errorf("%d requests are not the %d that were written", len(gotRows), len(wantRows))
	}
}
