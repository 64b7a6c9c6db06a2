package load

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// How the shortest outage that is always seen is measured: a server on loopback resets, for a window of that length at
// a random moment, every connection that it gets or that carries a request. An outage is seen when a request failed
// that was under way in its window. Two kinds of windows say nothing about the load and do not count: those that this
// machine made longer than they were to be, and those in which the worker itself was late by more than outageLag. A
// judge sees the latter by the rows.
var outageLengths = []time.Duration{
	2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
}

const (
	outageTrials = 150
	outageEnough = 100 // have to count
	outageRate   = 200
	outageSlack  = time.Millisecond // a window may be longer by so much
	outageLag    = 2 * time.Millisecond
)

// BenchmarkShortestOutage reports, for each length, how many percent of the outages were seen, and the shortest length
// from which on all were (0: there is none); then how many percent did not count because the worker was late, and how
// many requests failed without an outage: false alarms.
func BenchmarkShortestOutage(b *testing.B) {
	for _, name := range []history.Lane{history.LaneFresh, history.LaneReused} {
		b.Run(string(name), func(b *testing.B) {
			for b.Loop() {
				server, rows := plant(b, Lane{Lane: name, Rate: outageRate})
				reportOutages(b, server.outages, rows)
			}
		})
	}
}

func reportOutages(b *testing.B, outages []window, rows []history.Request) {
	b.Helper()
	shortest, late := time.Duration(0), 0
	for _, length := range outageLengths {
		seen, counted := 0, 0
		for _, w := range outages {
			switch {
			case w.of != length:
			case w.missedBy(rows):
				late++
			default:
				counted++
				if w.seenBy(rows) {
					seen++
				}
			}
		}
		b.ReportMetric(100*float64(seen)/float64(counted), fmt.Sprintf("%%-of-%s", length))
		switch {
		case counted < outageEnough:
			b.Errorf("only %d outages of %s count: this machine is too busy", counted, length)
		case seen < counted:
			shortest = 0
		case shortest == 0:
			shortest = length
		}
	}
	b.ReportMetric(float64(shortest.Milliseconds()), "shortest-ms")
	b.ReportMetric(100*float64(late)/float64(outageTrials*len(outageLengths)), "%-late")
	b.ReportMetric(float64(falseAlarms(outages, rows)), "false-alarms")
	b.ReportMetric(0, "ns/op") // the length of the trials, which says nothing
}

// window is when an outage was in force.
type window struct {
	from, to history.Offset
	of       time.Duration // what it was to be; zero if it became longer, and does not count
}

func (w window) holds(r *history.Request) bool { return r.Sent <= w.to && r.Done >= w.from }

func (w window) seenBy(rows []history.Request) bool {
	for i := range rows {
		if rows[i].Outcome.Failed() && w.holds(&rows[i]) {
			return true
		}
	}
	return false
}

// missedBy tells whether the worker was late, or did not send at all, what was due in the window or just before.
func (w window) missedBy(rows []history.Request) bool {
	return slices.ContainsFunc(rows, func(r history.Request) bool {
		due := r.Due >= w.from-time.Second/outageRate && r.Due <= w.to
		return due && (r.Outcome == history.Unsent || r.Sent-r.Due > outageLag)
	})
}

func falseAlarms(outages []window, rows []history.Request) int {
	n := 0
	for i := range rows {
		r := &rows[i]
		if r.Outcome.Failed() && !slices.ContainsFunc(outages, func(w window) bool { return w.holds(r) }) {
			n++
		}
	}
	return n
}

// plant plays a lane against a server with outages, and returns both the server and the rows.
func plant(b *testing.B, l Lane) (*fickle, []history.Request) {
	b.Helper()
	server := startFickle(b)
	l.Target = server.url
	w, err := newWorker(b.Context(), WorkerOptions{Name: "bench", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	a, err := newAttack(b.Context(), Plan{ID: "outages", Lanes: []Lane{l}, Duration: time.Hour}, w)
	if err != nil {
		b.Fatal(err)
	}
	go a.run(w.log)
	time.Sleep(time.Second)
	for range outageTrials {
		for _, length := range outageLengths {
			server.outage(b, w, length)
		}
	}
	time.Sleep(100 * time.Millisecond)
	a.stop(w.clock())
	<-a.finished
	return server, rowsOf(b, a.record)
}

// fickle answers like the backend, but for when it is down.
type fickle struct {
	url     string
	down    atomic.Bool
	outages []window
}

func startFickle(b *testing.B) *fickle {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Close() })
	f := &fickle{url: "http://" + l.Addr().String() + "/"}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go f.serve(c.(*net.TCPConn))
		}
	}()
	return f
}

func (f *fickle) serve(c *net.TCPConn) {
	defer func() { _ = c.Close() }()
	in := bufio.NewReader(c)
	for !f.down.Load() {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if f.down.Load() {
			break
		}
		id := r.Header.Get(headerID)
		text := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\nok %s\n", len(id)+4, id)
		if _, err := io.WriteString(c, text); err != nil || r.Close {
			return
		}
	}
	_ = c.SetLinger(0)
}

// outage waits for a random moment and is down for that long, once it has worked out.
func (f *fickle) outage(b *testing.B, w *worker, length time.Duration) {
	b.Helper()
	for range 20 {
		time.Sleep(50*time.Millisecond + rand.N(20*time.Millisecond))
		from := w.clock()
		f.down.Store(true)
		for w.clock()-from < length { // a timer would be late by up to a millisecond
			if left := length - (w.clock() - from); left > 3*time.Millisecond {
				time.Sleep(left - 2*time.Millisecond)
			}
		}
		f.down.Store(false)
		done := window{from: from, to: w.clock()}
		good := done.to-from <= length+outageSlack
		if good {
			done.of = length
		}
		f.outages = append(f.outages, done)
		if good {
			return
		}
	}
	b.Fatalf("no outage of %s could be made: this machine is too busy", length)
}
