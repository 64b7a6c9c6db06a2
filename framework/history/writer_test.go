package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// everyEvent has one event of each kind that a caller may append, with every field set to a distinct value.
func everyEvent(t *testing.T) []Event {
	t.Helper()
	var all []Event
	kinds := reflect.TypeFor[Event]()
	for i := range kinds.NumField() {
		kind := kinds.Field(i)
		if slices.Contains([]string{"T", "Header", "End", "Segment"}, kind.Name) {
			continue
		}
		e := Event{T: Offset(i) * time.Second}
		payload := reflect.New(kind.Type.Elem())
		fill(t, payload.Elem(), kind.Name)
		reflect.ValueOf(&e).Elem().Field(i).Set(payload)
		all = append(all, e)
	}
	return all
}

// fill sets all fields of v to values derived from their paths.
func fill(t *testing.T, v reflect.Value, path string) {
	t.Helper()
	number := crc32.ChecksumIEEE([]byte(path)) % 1000
	switch {
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		v.SetBytes(fmt.Appendf(nil, `[{"maxSkew":%d}]`, number))
	case v.Kind() == reflect.String:
		v.SetString(path + odd)
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(-int64(number))
	case v.CanFloat():
		v.SetFloat(float64(number))
	case v.CanUint():
		v.SetUint(math.MaxUint64 - uint64(number))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(t, v.Index(i), fmt.Sprint(path, i))
		}
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), path)
	case v.Type() == reflect.TypeFor[map[string]string]():
		v.Set(reflect.ValueOf(map[string]string{"key": path + odd}))
	case v.Type() == reflect.TypeFor[map[string]float64]():
		v.Set(reflect.ValueOf(map[string]float64{"key": float64(number)}))
	default:
		t.Fatalf("how to fill a %v?", v.Type())
	}
}

// odd contains characters that are difficult for JSON and its readers.
const odd = " é \"<&>\n"

func TestARecordReadsAsItWasWritten(t *testing.T) {
	w, dir := create(t)
	want := everyEvent(t)
	for _, i := range []int{1, 0} { // readers sort
		must(t, w.Append(want[i]))
	}
	for _, e := range want[2:] {
		must(t, w.Append(e))
	}
	wantRequests := someRequests("worker-0", 1000)
	requests := requestWriter(t, w, "worker-0")
	must(t, requests.Append(wantRequests...))
	must(t, w.Close())

	run, err := Open(dir)
	must(t, err)
	if run.Incomplete != "" {
		t.Errorf("incomplete: %s", run.Incomplete)
	}
	wantHeader := Header{Format: 1, RunID: "r1", Scenario: "chaos/drain", Base: testBase, Seed: 7}
	if diff := cmp.Diff(wantHeader, run.Header); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	got := slices.DeleteFunc(slices.Clone(run.Events), func(e Event) bool {
		return e.Header != nil || e.End != nil || e.Segment != nil
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	for range 2 { // repeatable
		gotRequests, err := collect(run.Requests)
		must(t, err)
		if diff := cmp.Diff(wantRequests, gotRequests); diff != "" {
			t.Fatalf("requests (-want +got):\n%s", diff)
		}
	}
}

func TestAppendFromManyGoroutines(t *testing.T) {
	w, dir := create(t)
	var all sync.WaitGroup
	const workers, each = 8, 200
	for n := range workers {
		all.Go(func() {
			requests, err := w.Requests(fmt.Sprintf("worker-%d", n/2)) // two goroutines share a writer
			if err != nil {
				t.Error(err)
				return
			}
			for i := range each {
				request := someRequests(fmt.Sprintf("worker-%d", n/2), 1)[0]
				request.Done += time.Duration(i) * time.Millisecond
				errs := []error{
					w.Append(Event{T: w.Now(), Trouble: &Trouble{What: fmt.Sprint(n, i)}}), requests.Append(request),
				}
				if i%50 == 0 {
					errs = append(errs, requests.Roll())
				}
				if err := errors.Join(errs...); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	must(t, w.Close())
	run, err := Open(dir)
	must(t, err)
	requests, err := collect(run.Requests)
	must(t, err)
	troubles := 0
	for _, e := range run.Events {
		if e.Trouble != nil {
			troubles++
		}
	}
	if run.Incomplete != "" || troubles != workers*each || len(requests) != workers*each {
		t.Errorf("%d events and %d requests, incomplete %q", troubles, len(requests), run.Incomplete)
	}
}

func TestCreateSpoilsNoRecord(t *testing.T) {
	w, dir := create(t)
	must(t, w.Close())
	_, err := Create(dir, Header{})
	if err == nil || !strings.Contains(err.Error(), dir+" holds one already") {
		t.Errorf("error %v", err)
	}
	if _, err := Open(dir); err != nil {
		t.Error(err)
	}
}

func TestWhatAppendRefuses(t *testing.T) {
	w, dir := create(t)
	refused := map[string]Event{
		"header and end are the writer's own": {End: &End{}},
		"exceed the maximum line length of":   {KubeNote: &KubeNote{Message: strings.Repeat("x", maxLineBytes)}},
		"append event: json":                  {Workload: &Workload{Spread: []byte("{")}},
	}
	for want, e := range refused {
		if err := w.Append(e); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
	must(t, w.Close()) // none of it was written
	if run, err := Open(dir); err != nil || run.Incomplete != "" || len(run.Events) != 2 {
		t.Errorf("%d events, incomplete %q, error %v", len(run.Events), run.Incomplete, err)
	}
}

func TestTheLongestLineCanBeRead(t *testing.T) {
	w, dir := create(t)
	empty := len(`{"t":0,"trouble":{"what":""}}` + "\n")
	must(t, w.Append(Event{Trouble: &Trouble{What: strings.Repeat("x", maxLineBytes-empty)}}))
	must(t, w.Close())
	if run, err := Open(dir); err != nil || run.Incomplete != "" || len(run.Events) != 3 {
		t.Errorf("%d events, incomplete %q, error %v", len(run.Events), run.Incomplete, err)
	}
}

func TestAfterClose(t *testing.T) {
	w, _ := create(t)
	requests := requestWriter(t, w, "worker-0")
	must(t, w.Close())
	must(t, w.Close())
	_, newErr := w.Requests("worker-1")
	for i, err := range []error{w.Append(Event{}), requests.Append(Request{}), requests.Roll(), newErr} {
		if !errors.Is(err, errClosed) {
			t.Errorf("%d: error %v", i, err)
		}
	}
}

// fullDisk makes every write to a file fail with "no space left".
func fullDisk(t *testing.T) *os.File {
	t.Helper()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("this system has no full disk to offer: %v", err)
	}
	return full
}

func TestAFullDiskLeavesTheRecordIncomplete(t *testing.T) {
	tests := map[string]struct {
		spoil    func(*Writer, *RequestWriter, *os.File)
		requests int // that remain
	}{
		"events.jsonl":                     {func(w *Writer, _ *RequestWriter, full *os.File) { w.file = full }, 5},
		"requests/worker-0-00001.csv.open": {func(_ *Writer, r *RequestWriter, full *os.File) { r.file = full }, 4},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w, dir := create(t)
			requests := requestWriter(t, w, "worker-0")
			must(t, requests.Append(someRequests("worker-0", 3)...))
			must(t, requests.releaseAll())
			must(t, requests.Roll())
			late := Request{Lane: LaneFresh, Done: time.Hour, Outcome: OK}
			must(t, requests.Append(late))
			must(t, requests.releaseAll()) // to have an open file
			test.spoil(w, requests, fullDisk(t))

			late.Done += time.Minute
			wrote := errors.Join(requests.Append(late, Request{Done: 2 * time.Hour}), w.Append(Event{Trouble: &Trouble{}}))
			if !errors.Is(wrote, syscall.ENOSPC) || !strings.Contains(wrote.Error(), filepath.Join(dir, name)) ||
				!strings.Contains(wrote.Error(), "make room") {
				t.Errorf("error %v", wrote)
			}
			select {
			case <-w.Broken():
			default:
				t.Error("Broken is not closed")
			}
			if !errors.Is(w.Err(), syscall.ENOSPC) {
				t.Errorf("broken by %v", w.Err())
			}
			if again := w.Append(Event{Trouble: &Trouble{}}); !errors.Is(again, syscall.ENOSPC) {
				t.Errorf("a later append: %v", again)
			}
			if closed := w.Close(); !errors.Is(closed, syscall.ENOSPC) {
				t.Errorf("close: %v", closed)
			}
			run, err := Open(dir)
			must(t, err)
			if !strings.Contains(run.Incomplete, "has no end line") {
				t.Errorf("incomplete %q", run.Incomplete)
			}
			got, err := collect(run.Requests)
			if len(got) != test.requests || err != nil {
				t.Errorf("%d requests, error %v", len(got), err)
			}
		})
	}
}

// TestAKilledHarness never calls Close: everything except the most recent requests must be there.
func TestAKilledHarness(t *testing.T) {
	w, dir := create(t)
	must(t, w.Append(Event{T: 5, Trouble: &Trouble{What: "x"}}))
	requests := requestWriter(t, w, "worker-0")
	must(t, requests.Append(someRequests("worker-0", 10)...))
	next := someRequests("worker-0", 10)
	for i := range next {
		next[i].Done += 10 * time.Second
	}
	must(t, requests.Append(next...))
	must(t, requests.Roll())
	last := Request{Lane: LaneFresh, Done: time.Minute, Outcome: OK}
	must(t, requests.Append(last))

	run, err := Open(dir)
	must(t, err)
	open := filepath.Join(dir, "requests", "worker-0-00001.csv.open")
	for _, want := range []string{
		"events.jsonl has no end line after line 3: the harness was killed, or is still running",
		open + " is not listed as closed: requests may be missing",
	} {
		if !strings.Contains(run.Incomplete, want) {
			t.Errorf("incomplete %q, want %q in it", run.Incomplete, want)
		}
	}
	got, err := collect(run.Requests)
	if len(got) != 20 || err != nil {
		t.Errorf("%d requests, error %v, want 20 and none", len(got), err)
	}

	file, err := os.OpenFile(open, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = file.WriteString("worker-0,fresh,1,2")
	must(t, errors.Join(err, file.Close()))
	got, err = collect(run.Requests)
	if len(got) != 20 || err != nil {
		t.Errorf("with half a row: %d requests, error %v, want 20 and none", len(got), err)
	}
}
