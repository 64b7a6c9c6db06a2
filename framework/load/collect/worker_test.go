package collect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/load/loadtest"
)

// call calls a worker's API and returns the status and the body.
func call(t *testing.T, api http.Handler, method, path string, body any) (int, []byte) {
	t.Helper()
	content, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	rw := httptest.NewRecorder()
	api.ServeHTTP(rw, httptest.NewRequestWithContext(t.Context(), method, path, bytes.NewReader(content)))
	if rw.Header().Get(headerWorker) == "" {
		t.Errorf("%s %s: the answer does not name the worker", method, path)
	}
	return rw.Code, rw.Body.Bytes()
}

func get[T any](t *testing.T, api http.Handler, method, path string, body any) T {
	t.Helper()
	status, content := call(t, api, method, path, body)
	var value T
	if err := json.Unmarshal(content, &value); err != nil || status != http.StatusOK {
		t.Fatalf("%s %s: %d %s", method, path, status, content)
	}
	return value
}

func planFor(id string, duration time.Duration) load.Plan {
	return load.Plan{ID: id, Duration: duration, Lanes: []load.Lane{{Lane: history.LaneFresh, Target: "http://target/", Rate: 10}}}
}

// begin gives a worker a plan, and tells it when to begin, on its clock.
func begin(t *testing.T, w *worker, plan load.Plan, at history.Offset) Status {
	t.Helper()
	get[Status](t, w.api(), "PUT", "/plan", plan)
	return get[Status](t, w.api(), "POST", "/start?plan="+plan.ID+"&at="+at.String(), nil)
}

// stopNow ends a plan, and returns when the last request has its row.
func stopNow(t *testing.T, w *worker, plan string) Status {
	t.Helper()
	return get[Status](t, w.api(), "POST", "/stop?plan="+plan+"&at="+w.clock().String(), nil)
}

// Every call of the API is safe to repeat.
func TestWorkerAPICanBeRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := fakeWorker(t, loadtest.Late(time.Millisecond))
		api := w.api()
		plan := planFor("one", time.Minute)
		begin(t, w, plan, 0)
		time.Sleep(3 * time.Second)
		again := begin(t, w, plan, time.Hour) // it has begun already
		if again.Lanes[0].Planned != 30 && again.Lanes[0].Planned != 31 {
			t.Errorf("the running plan is not the one of three seconds ago: %+v", again.Lanes[0])
		}
		first := stopNow(t, w, "one")
		time.Sleep(3 * time.Second)
		second := stopNow(t, w, "one")
		if got, want := fmt.Sprint(first.Lanes[0].Answered, second.Lanes[0].Answered), "[pod] []"; got != want {
			t.Errorf("pods that answered within a second: %s, want %s", got, want)
		}
		second.Lanes[0].Answered = first.Lanes[0].Answered
		if !first.Finished || !cmp.Equal(first.Lanes, second.Lanes) {
			t.Errorf("stopped with %+v, and later with %+v", first, second)
		}
		begin(t, w, plan, 0) // a late repetition must not restart the plan

		told := get[Report](t, api, "POST", "/report?plan=one", nil)
		if list := told.Segments; len(list) != 2 || list[1].N != 2 || len(told.Noise) < 3 || told.Now != w.clock() || !told.Finished {
			t.Fatalf("report %+v, want two segments", told)
		}
		_, before := call(t, api, "GET", "/segments/1?plan=one", nil)
		_, after := call(t, api, "GET", "/segments/1?plan=one", nil)
		if _, err := rowsIn(after, told.Segments[0], nil); err != nil || !bytes.Equal(before, after) {
			t.Error(err)
		}
		refuse(t, api, http.StatusConflict, "POST", "/done?plan=one", nil) // rows would be lost
		for range 2 {
			for stored := range 3 {
				left := get[Report](t, api, "POST", fmt.Sprintf("/report?plan=one&stored=%d&noise=%d", stored, len(told.Noise)), nil)
				if len(left.Segments) != min(2-stored, len(w.current.segments.segments)) || len(left.Noise) != 0 {
					t.Errorf("left after %d segments were stored: %+v", stored, left)
				}
			}
		}
		if left := get[Report](t, api, "POST", "/report?plan=one", nil); len(left.Segments) != 0 || left.Held != 0 {
			t.Errorf("left after all was collected: %+v", left)
		}
		for range 2 {
			if status, text := call(t, api, "POST", "/done?plan=one", nil); status != http.StatusNoContent || !closed(w.collected) {
				t.Errorf("done: %d %s", status, text)
			}
		}
	})
}

func refuse(t *testing.T, api http.Handler, want int, method, path string, body any) {
	t.Helper()
	if got, text := call(t, api, method, path, body); got != want {
		t.Errorf("%s %s: %d %s, want %d", method, path, got, text, want)
	}
}

func TestWorkerRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := fakeWorker(t, loadtest.Late(time.Millisecond))
		api := w.api()
		get[Status](t, api, "PUT", "/plan", planFor("none", 10*time.Second)) // which never begins, and is in nobody's way
		begin(t, w, planFor("one", 10*time.Second), 0)
		refuse(t, api, http.StatusBadRequest, "PUT", "/plan", "no plan")
		refuse(t, api, http.StatusBadRequest, "PUT", "/plan", load.Plan{ID: "two"})
		refuse(t, api, http.StatusConflict, "PUT", "/plan", planFor("one", time.Second))
		refuse(t, api, http.StatusConflict, "PUT", "/plan", planFor("two", time.Second))
		refuse(t, api, http.StatusNotFound, "GET", "/status?plan=two", nil)
		refuse(t, api, http.StatusNotFound, "POST", "/stop?at=1s", nil)
		refuse(t, api, http.StatusBadRequest, "POST", "/stop?plan=one", nil)
		refuse(t, api, http.StatusBadRequest, "POST", "/start?plan=one&at=soon", nil)
		refuse(t, api, http.StatusNotFound, "GET", "/segments/1?plan=one", nil)
		refuse(t, api, http.StatusNotFound, "GET", "/segments/x?plan=one", nil)
		refuse(t, api, http.StatusBadRequest, "POST", "/report?plan=one&stored=x", nil)
		refuse(t, api, http.StatusBadRequest, "POST", "/report?plan=one&noise=x", nil)
		refuse(t, api, http.StatusConflict, "POST", "/done?plan=one", nil) // it is running
		time.Sleep(time.Second)
		stopNow(t, w, "one")
		refuse(t, api, http.StatusConflict, "PUT", "/plan", planFor("two", time.Second)) // the rows of plan one are not collected yet
		get[Report](t, api, "POST", "/report?plan=one&stored=1", nil)
		begin(t, w, planFor("two", time.Second), w.clock())
		refuse(t, api, http.StatusNotFound, "POST", "/report?plan=one&stored=1", nil) // a late repetition must not forget the new plan's rows
		time.Sleep(time.Minute)
		if s := get[Status](t, api, "GET", "/status?plan=two", nil); !s.Finished || s.Lanes[0].Planned != 10 {
			t.Errorf("the load did not stop by itself after its second: %+v", s)
		}
	})
}

// A plan begins later than it arrives, so that several workers can begin together.
func TestPlanBeginsWhenItIsTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := fakeWorker(t, loadtest.Late(0))
		begin(t, w, planFor("one", time.Second), 5*time.Second)
		p := w.current
		<-p.finished
		var rows []history.Request
		for _, one := range p.segments.segments {
			rows = append(rows, rowsOf(t, one)...)
		}
		loadtest.CheckRows(t, rows, totals(p.attack.Status()))
		if len(rows) != 10 || rows[0].Due != 5*time.Second || rows[0].Sent != 5*time.Second {
			t.Errorf("%d rows, the first %+v: want it due after 5s", len(rows), rows[0])
		}
	})
}

// A plan that is stopped before it was told to begin has no hit, and its worker can end.
func TestPlanThatNeverBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := fakeWorker(t, loadtest.Late(0))
		get[Status](t, w.api(), "PUT", "/plan", planFor("one", time.Second))
		if s := stopNow(t, w, "one"); !s.Finished || s.Lanes[0].Planned != 0 {
			t.Errorf("%+v", s)
		}
		if status, text := call(t, w.api(), "POST", "/done?plan=one", nil); status != http.StatusNoContent {
			t.Errorf("done: %d %s", status, text)
		}
	})
}

func TestControlTarget(t *testing.T) {
	s := httptest.NewServer(controlTarget("me"))
	defer s.Close()
	for id, want := range map[string]string{"": "ok -\n", "w/control/1": "ok w/control/1\n"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		if id != "" {
			r.Header.Set("X-Holdfast-Id", id)
		}
		got, err := s.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(got.Body)
		_ = got.Body.Close()
		if err != nil || string(body) != want || got.ContentLength != int64(len(want)) || got.Header.Get("X-Holdfast-Pod") != "me" {
			t.Errorf("id %q: %q, length %d, headers %v (%v)", id, body, got.ContentLength, got.Header, err)
		}
	}
}

func TestWorkerNeedsAName(t *testing.T) {
	if err := RunWorker(t.Context(), WorkerOptions{}); err == nil || err.Error() != "load worker: no name" {
		t.Errorf("got %v", err)
	}
}
