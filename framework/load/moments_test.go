package load

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// turnstile counts the requests of each lane that a server is handling.
type turnstile struct {
	server roundTrip
	mu     sync.Mutex
	within map[history.Lane]uint64
	most   uint64 // the largest such number of a lane
}

func (s *turnstile) RoundTrip(r *http.Request) (*http.Response, error) {
	lane := history.Lane(strings.Split(r.Header.Get(headerID), "/")[1])
	s.add(lane, 1)
	defer s.add(lane, ^uint64(0))
	return s.server(r)
}

func (s *turnstile) add(lane history.Lane, n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.within[lane] += n
	s.most = max(s.most, s.within[lane])
}

func (s *turnstile) underWay(lane history.Lane) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.within[lane]
}

// Planned = sent + unsent + in flight, exactly, at any moment: before and after a stop, with busy lanes, without room for rows,
// and with a process that is frozen now and then. Requests in flight are with the server, or queued for a sender.
func TestAtEveryMomentNothingIsMissing(t *testing.T) {
	looks, busy, unsent := 0, uint64(0), uint64(0)
	for seed := range uint64(40) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDice(seed)
				server := &turnstile{server: moody(d), within: make(map[history.Lane]uint64)}
				w := fakeWorker(t, server)
				if d.n(3) == 0 {
					w.maxRows = 1 + d.n(500)
				}
				a, err := newAttack(t.Context(), randomPlan(d), w)
				if err != nil {
					t.Fatal(err)
				}
				for _, l := range a.lanes {
					l.pacer = sleepy{Pacer: l.pacer, d: d}
				}
				go a.run(w.log)
				for !a.done() {
					time.Sleep(1 + d.upTo(400*time.Millisecond))
					if d.n(40) == 0 {
						a.stop(w.clock())
					}
					synctest.Wait() // every request is counted, or with the server, or in the queue
					looks++
					for i, status := range a.record.status(a.plan.Lanes) {
						queued := uint64(len(a.lanes[i].work))
						under := server.underWay(status.Lane)
						if status.Planned != status.Sent+status.Unsent+under+queued {
							t.Errorf("%s at %s: planned %d, sent %d, unsent %d, with the server %d, queued %d",
								status.Lane, w.clock(), status.Planned, status.Sent, status.Unsent, under, queued)
						}
					}
				}
				for _, status := range a.record.status(a.plan.Lanes) {
					unsent += status.Unsent
				}
				checkAttack(t, a) // at the end, rows = planned = sent + unsent
				busy = max(busy, server.most)
			})
		})
	}
	if looks < 500 || busy < 2 || unsent == 0 {
		t.Errorf("%d looks, up to %d requests of a lane at once, %d unsent: the test tries too little", looks, busy, unsent)
	}
}
