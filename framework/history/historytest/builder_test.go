package historytest_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
)

func rows(t *testing.T, run history.Run) []history.Request {
	t.Helper()
	var all []history.Request
	for r, err := range run.Requests() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, *r)
	}
	return all
}

// TestWhatIsSharedDoesNotChange: runs and copies share a Builder's requests, and stay as they are when it is used further.
func TestWhatIsSharedDoesNotChange(t *testing.T) {
	spoil := func(r *history.Request) { r.Err = "spoiled" }
	all := func(history.Request) bool { return true }
	for name, use := range map[string]func(*historytest.Builder){
		"edited":          func(b *historytest.Builder) { b.EditRequests(spoil) },
		"edited in place": func(b *historytest.Builder) { spoil(&b.Requests()[0]) },
		"dropped":         func(b *historytest.Builder) { b.DropRequests(all) },
		"added":           func(b *historytest.Builder) { b.Request(history.Request{Lane: history.LaneFresh}) },
		"edited after one was added": func(b *historytest.Builder) {
			b.Request(history.Request{Lane: history.LaneFresh}).EditRequests(spoil)
		},
		"failed": func(b *historytest.Builder) {
			b.Fail(history.LaneFresh, 0, time.Hour, history.Refused).EditEvents(func(e *history.Event) { e.T++ })
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := historytest.Healthy().DropRequests(func(r history.Request) bool { return r.Seq >= 20 })
			run, copied := b.Run(), b.Copy()
			before, events := rows(t, run), slices.Clone(run.Events)
			use(b)
			for what, now := range map[string]history.Run{"the run": run, "the copy": copied.Run()} {
				if diff := cmp.Diff(before, rows(t, now)); diff != "" {
					t.Errorf("%s has other requests (-before +after):\n%s", what, diff)
				}
				if diff := cmp.Diff(events, now.Events); diff != "" {
					t.Errorf("%s has other events (-before +after):\n%s", what, diff)
				}
			}
			before = rows(t, b.Run())
			use(copied)
			if diff := cmp.Diff(before, rows(t, b.Run())); diff != "" {
				t.Errorf("the Builder changed with its copy (-before +after):\n%s", diff)
			}
		})
	}
}

// TestEveryPayloadIsCopied fails if copyPayloads misses a new kind of payload.
func TestEveryPayloadIsCopied(t *testing.T) {
	var e history.Event
	v := reflect.ValueOf(&e).Elem()
	for i := range v.NumField() {
		if v.Field(i).Kind() == reflect.Pointer {
			v.Field(i).Set(reflect.New(v.Field(i).Type().Elem()))
		}
	}
	got := historytest.New().Event(e).Run().Events[1]
	g := reflect.ValueOf(&got).Elem()
	for i := range v.NumField() {
		if v.Field(i).Kind() == reflect.Pointer && v.Field(i).Pointer() == g.Field(i).Pointer() {
			t.Errorf("%s is shared with the builder", v.Type().Field(i).Name)
		}
	}
}
