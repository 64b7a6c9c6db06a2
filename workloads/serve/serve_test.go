package serve

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestDrainAnswersWhatIsConnected uses an idle connection once more, a second after SIGTERM.
func TestDrainAnswersWhatIsConnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipes()
		term, ended := start(t, l, Options{}, empty)
		idle, unused := dial(t, l), dial(t, l)
		idle.mustGet("/", false)
		<-time.After(time.Minute) // quiet time before SIGTERM must not count
		began := time.Now()
		term()
		synctest.Wait()
		if c, err := l.dial(); err == nil {
			_ = c.Close()
			t.Error("it still listens after SIGTERM")
		}
		<-time.After(time.Second)
		idle.mustGet("/", true)
		unused.mustGet("/", true)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if took, want := time.Since(began).Round(100*time.Millisecond), time.Second+DefaultQuiet; took != want {
			t.Errorf("it took %s to end, want %s: a second, and the quiet", took, want)
		}
	})
}

func TestDrainFinishesWhatIsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipes()
		term, ended := start(t, l, Options{}, func(w http.ResponseWriter, _ *http.Request) {
			<-time.After(10 * time.Second)
			w.WriteHeader(http.StatusOK)
		})
		slow := dial(t, l)
		time.AfterFunc(time.Second, term)
		began := time.Now()
		slow.mustGet("/", false) // the request arrived before SIGTERM, so its response keeps the connection open
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("answered after %s", took)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestDrainHasALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipes()
		term, ended := start(t, l, Options{Limit: 8 * time.Second}, func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
		})
		stuck := dial(t, l)
		began := time.Now()
		term2 := time.AfterFunc(time.Second, term)
		defer term2.Stop()
		if stuck.get("/") != nil {
			t.Error("a request that never ends was answered")
		}
		err := <-ended
		if err == nil || !strings.Contains(err.Error(), "drain: cut what was in flight after 8s") {
			t.Errorf("error %v", err)
		}
		if took := time.Since(began).Round(time.Second); took != 9*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

func TestDropCutsWhatIsInFlight(t *testing.T) {
	for name, test := range map[string]struct{ service, want time.Duration }{
		"would be answered soon": {300 * time.Millisecond, 300 * time.Millisecond},
		"would take long":        {time.Minute, trapLimit},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, arrived := newPipes(), make(chan struct{})
				term, ended := start(t, l, Options{AtTerm: Drop}, func(w http.ResponseWriter, r *http.Request) {
					close(arrived)
					select {
					case <-time.After(test.service):
						w.WriteHeader(http.StatusOK)
					case <-r.Context().Done():
					}
				})
				go func() {
					<-arrived
					term()
				}()
				began := time.Now()
				if dial(t, l).get("/") != nil {
					t.Error("answered")
				}
				if err := <-ended; err != nil || time.Since(began) != test.want {
					t.Errorf("error %v after %s, want none after %s", err, time.Since(began), test.want)
				}
			})
		})
	}
}

func TestHoldServesOnAndCutsARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipes()
		term, ended := start(t, l, Options{AtTerm: Hold, Limit: 5 * time.Second}, empty)
		long := dial(t, l)
		long.mustGet("/", false)
		term()
		for range 4 {
			<-time.After(time.Second)
			long.mustGet("/", false)
			dial(t, l).mustGet("/", false) // new connections are accepted as well
		}
		<-time.After(1500 * time.Millisecond)
		if long.get("/") != nil {
			t.Error("the request at the end was answered: nothing is cut")
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestCloseAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipes()
		term, ended := start(t, l, Options{AtTerm: Drop, CloseAfter: 3}, empty)
		for range 2 { // each connection has its own count
			c := dial(t, l)
			c.mustGet("/", false)
			c.mustGet("/", false)
			c.mustGet("/", true)
			if c.get("/") != nil {
				t.Error("a fourth answer")
			}
		}
		term()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
