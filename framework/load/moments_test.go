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
	"github.com/holdfast-ha/holdfast/framework/load/loadtest"
	"github.com/holdfast-ha/holdfast/workloads/backend"
)

// turnstile counts the requests of each lane that a server is handling.
type turnstile struct {
	server loadtest.RoundTrip
	mu     sync.Mutex
	within map[history.Lane]uint64
	most   uint64 // the largest such number of a lane
}

func (s *turnstile) RoundTrip(r *http.Request) (*http.Response, error) {
	lane := history.Lane(strings.Split(r.Header.Get(backend.HeaderID), "/")[1])
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
				d, maxRows := loadtest.NewDice(seed), 0
				server := &turnstile{server: loadtest.Moody(d), within: make(map[history.Lane]uint64)}
				if d.N(3) == 0 {
					maxRows = 1 + d.N(500)
				}
				a := prepare(t, randomPlan(d), server, maxRows)
				for _, l := range a.lanes {
					l.pacer = sleepy{Pacer: l.pacer, d: d}
				}
				go a.play()
				for !a.done() {
					time.Sleep(1 + d.UpTo(400*time.Millisecond))
					if d.N(40) == 0 {
						a.Stop(a.now())
					}
					synctest.Wait() // every request is counted, or with the server, or in the queue
					looks++
					for i, status := range a.Status() {
						queued := uint64(len(a.lanes[i].work))
						under := server.underWay(status.Lane)
						if status.Planned != status.Sent+status.Unsent+under+queued {
							t.Errorf("%s at %s: planned %d, sent %d, unsent %d, with the server %d, queued %d",
								status.Lane, a.now(), status.Planned, status.Sent, status.Unsent, under, queued)
						}
					}
				}
				for _, status := range a.Status() {
					unsent += status.Unsent
				}
				a.check(t) // at the end, rows = planned = sent + unsent
				busy = max(busy, server.most)
			})
		})
	}
	if looks < 500 || busy < 2 || unsent == 0 {
		t.Errorf("%d looks, up to %d requests of a lane at once, %d unsent: the test tries too little", looks, busy, unsent)
	}
}
