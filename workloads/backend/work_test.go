package backend

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"
)

// TestWork: an answer uses CPU time of the thread that makes it.
func TestWork(t *testing.T) {
	runtime.LockOSThread() // work then runs on this thread
	defer runtime.UnlockOSThread()
	for _, span := range []time.Duration{0, 2 * time.Millisecond, 20 * time.Millisecond} {
		o := Options{Work: span}
		before := threadTime()
		w := httptest.NewRecorder()
		o.answers().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		if took := threadTime() - before; took < span || w.Body.String() != "ok -\n" {
			t.Errorf("an answer %q took %s of processor time, want %s at least", w.Body, took, span)
		}
	}
}
