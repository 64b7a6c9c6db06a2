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

// Every call of the API is safe to repeat.
func TestWorkerAPICanBeRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := fakeWorker(t, loadtest.Late(time.Millisecond))
		api := w.api()
		plan := planFor("one", time.Minute)
		get[Status](t, api, "PUT", "/plan", plan)
		time.Sleep(3 * time.Second)
		again := get[Status](t, api, "PUT", "/plan", plan)
		if again.Lanes[0].Planned != 30 && again.Lanes[0].Planned != 31 {
			t.Errorf("the running plan is not the one of three seconds ago: %+v", again.Lanes[0])
		}
		first := get[Status](t, api, "POST", "/stop?plan=one", nil)
		time.Sleep(3 * time.Second)
		second := get[Status](t, api, "POST", "/stop?plan=one", nil)
		if got, want := fmt.Sprint(first.Lanes[0].Answered, second.Lanes[0].Answered), "[pod] []"; got != want {
			t.Errorf("pods that answered within a second: %s, want %s", got, want)
		}
		second.Lanes[0].Answered = first.Lanes[0].Answered
		if !first.Finished || !cmp.Equal(first.Lanes, second.Lanes) {
			t.Errorf("stopped with %+v, and later with %+v", first, second)
		}
		get[Status](t, api, "PUT", "/plan", plan) // a late repetition must not restart the plan

		list := get[[]Segment](t, api, "GET", "/segments?plan=one", nil)
		if len(list) != 2 || list[1].N != 2 {
			t.Fatalf("segments %+v, want two", list)
		}
		_, before := call(t, api, "GET", "/segments/1?plan=one", nil)
		_, after := call(t, api, "GET", "/segments/1?plan=one", nil)
		if rows, err := unpack(after); err != nil || len(rows) != list[0].Rows || !bytes.Equal(before, after) {
			t.Errorf("segment 1 has %d rows, want %d (%v)", len(rows), list[0].Rows, err)
		}
		for range 2 {
			for _, path := range []string{"/segments/1?plan=one", "/segments/2?plan=one"} {
				if status, _ := call(t, api, "DELETE", path, nil); status != http.StatusNoContent {
					t.Errorf("DELETE %s: %d", path, status)
				}
			}
		}
		if left := get[[]Segment](t, api, "GET", "/segments?plan=one&after=0", nil); len(left) != 0 {
			t.Errorf("left after all was collected: %+v", left)
		}
		if held := get[Status](t, api, "GET", "/status?plan=one", nil).Held; held != 0 {
			t.Errorf("%d rows held after all was collected", held)
		}
	})
}

func TestWorkerRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := fakeWorker(t, loadtest.Late(time.Millisecond))
		api := w.api()
		get[Status](t, api, "PUT", "/plan", planFor("one", 10*time.Second))
		refuse := func(want int, method, path string, body any) {
			t.Helper()
			if got, text := call(t, api, method, path, body); got != want {
				t.Errorf("%s %s: %d %s, want %d", method, path, got, text, want)
			}
		}
		refuse(http.StatusBadRequest, "PUT", "/plan", "no plan")
		refuse(http.StatusBadRequest, "PUT", "/plan", load.Plan{ID: "two"})
		refuse(http.StatusConflict, "PUT", "/plan", planFor("one", time.Second))
		refuse(http.StatusConflict, "PUT", "/plan", planFor("two", time.Second))
		refuse(http.StatusNotFound, "GET", "/status?plan=two", nil)
		refuse(http.StatusNotFound, "POST", "/stop", nil)
		refuse(http.StatusNotFound, "GET", "/segments/1?plan=one", nil)
		refuse(http.StatusNotFound, "GET", "/segments/x?plan=one", nil)
		refuse(http.StatusBadRequest, "DELETE", "/segments/x?plan=one", nil)
		refuse(http.StatusBadRequest, "GET", "/segments?plan=one&after=x", nil)
		get[Status](t, api, "POST", "/stop?plan=one", nil)
		refuse(http.StatusConflict, "PUT", "/plan", planFor("two", time.Second)) // the rows of plan one are not collected yet
		call(t, api, "DELETE", "/segments/1?plan=one", nil)
		get[Status](t, api, "PUT", "/plan", planFor("two", time.Second))
		refuse(http.StatusNotFound, "DELETE", "/segments/1?plan=one", nil) // a late repetition must not delete the new plan's rows
		time.Sleep(time.Minute)
		if s := get[Status](t, api, "GET", "/status?plan=two", nil); !s.Finished || s.Lanes[0].Planned != 10 {
			t.Errorf("the load did not stop by itself after its second: %+v", s)
		}
	})
}

// A plan may begin later than it arrives, so that several workers can begin together.
func TestPlanBeginsWhenItIsTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := fakeWorker(t, loadtest.Late(0))
		plan := planFor("one", time.Second)
		plan.StartAt = 5 * time.Second
		get[Status](t, w.api(), "PUT", "/plan", plan)
		p := w.current
		<-p.finished
		var rows []history.Request
		for _, one := range p.segments.segments {
			rows = append(rows, rowsIn(t, one)...)
		}
		loadtest.CheckRows(t, rows, totals(p.attack.Status()))
		if len(rows) != 10 || rows[0].Due != 5*time.Second || rows[0].Sent != 5*time.Second {
			t.Errorf("%d rows, the first %+v: want it due after 5s", len(rows), rows[0])
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
