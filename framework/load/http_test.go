package load

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/loadtest"
	"github.com/holdfast-ha/holdfast/framework/load/roundtrip"
	"github.com/holdfast-ha/holdfast/workloads/backend"
)

// If a server stalls while requests are due, each opens a connection of its own, unless there is a limit. With a limit a
// request waits, and still counts as sent.
func TestMaxConnections(t *testing.T) {
	const inFlight, due, most = 20, 24, 3
	for name, test := range map[string]struct{ most, opened int }{
		"no limit": {0, inFlight},
		"a limit":  {most, most},
	} {
		t.Run(name, func(t *testing.T) {
			accepted, asked, release := make(chan int, 1000), make(chan string, 1000), make(chan struct{})
			url, _ := listen(t, func(_ *testing.T, n int, c *exchange) {
				accepted <- n
				<-release
				for c.answers(n) {
					continue
				}
			})
			l := testLane(t, Lane{
				Lane: history.LaneReused, Target: url, Rate: 1, Connections: 2, MaxConnections: test.most, InFlight: inFlight, Timeouts: roomy,
			})
			trace := &httptrace.ClientTrace{GetConn: func(host string) { asked <- host }}
			l.template = l.template.WithContext(httptrace.WithClientTrace(t.Context(), trace))
			l.work = make(chan dueRequest)
			for k := range uint64(due) {
				l.counts.planned.Add(1)
				l.dispatch(dueRequest{k: k, due: l.record.now()})
			}
			for range inFlight {
				<-asked
			}
			for range test.opened {
				<-accepted
			}
			if more := len(accepted); more > 0 {
				t.Errorf("%d connections more than %d were opened", more, test.opened)
			}
			released := l.record.now()
			close(release)
			close(l.work)
			l.done.Wait()
			// On a busy machine, net/http discards a connection that was returned to the pool too late.
			if more := len(accepted); test.most > 0 && more > test.most {
				t.Errorf("in the end %d connections more than %d were opened", more, test.opened)
			}
			rows := rowsOf(t, l.record)
			loadtest.CheckRows(t, rows, totals(l.record.status([]Lane{l.Lane})))
			unsent := 0
			for _, r := range rows {
				switch {
				case r.Outcome == history.Unsent && r.Err == unsentBusy:
					unsent++
				case r.Outcome != history.OK || r.Attempts != 1 || r.Sent < r.Due || r.Sent > released || r.Done < released:
					t.Errorf("released at %s, and got %+v", released, r)
				}
			}
			if unsent != due-inFlight {
				t.Errorf("%d were unsent, want the %d that exceed the limit of requests in flight", unsent, due-inFlight)
			}
		})
	}
}

// The time-outs of a request that waits for a connection begin when its wait begins.
func TestTheWaitForAConnectionCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := testLane(t, Lane{Lane: history.LaneReused, Target: "http://pipe.test/", Rate: 1, Connections: 1, MaxConnections: 1})
		l.transport.(*httpTransport).turns[0].(*http.Transport).DialContext = piped(func(n uint64, c net.Conn, id string) {
			if n == 1 { // the body of the first answer never comes
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")
				return
			}
			_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\nok %s\n", len("ok \n")+len(id), id)
		})
		var all sync.WaitGroup
		for k, at := range []time.Duration{0, 500 * time.Millisecond, 2500 * time.Millisecond} {
			all.Go(func() {
				time.Sleep(at)
				l.transport.sender(l).send(uint64(k), l.record.now())
			})
		}
		all.Wait()
		type told struct {
			Seq        uint64
			Outcome    history.Outcome
			Conn       uint64
			Sent, Took time.Duration
		}
		var got []told
		for _, r := range rowsOf(t, l.record) {
			got = append(got, told{r.Seq, r.Outcome, r.Conn, r.Sent, r.Done - r.Sent})
		}
		limits := DefaultTimeouts
		want := []told{
			{1, history.TimeoutConnect, 0, 500 * time.Millisecond, limits.Response}, // it waited in vain
			{0, history.Stall, 1, 0, limits.Request},
			{2, history.OK, 2, 2500 * time.Millisecond, limits.Request - 2500*time.Millisecond}, // its turn came
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// piped dials an in-memory server that answers each request with answer. It numbers its connections from 1.
func piped(answer func(n uint64, c net.Conn, id string)) roundtrip.Dial {
	var ids atomic.Uint64
	return func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		n := ids.Add(1)
		go func() {
			defer func() { _ = there.Close() }()
			in := bufio.NewReader(there)
			for {
				r, err := http.ReadRequest(in)
				if err != nil {
					return
				}
				answer(n, there, r.Header.Get(backend.HeaderID))
			}
		}()
		return &conn{Conn: here, id: n, addr: "pipe"}, nil
	}
}

// The shares of a limit add up to it, and differ by at most one.
func TestShare(t *testing.T) {
	for _, whole := range []int{3, 4, 7, 32, 8192} {
		sum, least, most := 0, whole, 0
		for i := range 3 {
			part := share(whole, 3, i)
			sum, least, most = sum+part, min(least, part), max(most, part)
		}
		if sum != whole || most-least > 1 {
			t.Errorf("of %d, 3 have %d, each %d to %d", whole, sum, least, most)
		}
	}
}
