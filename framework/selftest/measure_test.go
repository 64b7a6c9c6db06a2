package selftest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
)

// get sends one request on a new connection, and returns the body.
func get(t *testing.T, url, id string) (string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(headerID, id)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 30 * time.Second}
	answer, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	return string(body), err
}

// A server resets the requests of an outage, and no request before or after it. It knows which outage reset which request.
func TestOutage(t *testing.T) {
	o := &outage{}
	s, err := serve(t.Context(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, number := range []int64{0, 1, 0, 2} {
		o.number.Store(number)
		id := fmt.Sprintf("w/fresh/%d", i)
		body, err := get(t, s.url, id)
		if number > 0 && !errors.Is(err, syscall.ECONNRESET) || number == 0 && (err != nil || body != "ok "+id+"\n") {
			t.Errorf("outage %d: %q, %v", number, body, err)
		}
	}
	if diff := cmp.Diff(map[string][]int64{"w/fresh/1": {1}, "w/fresh/3": {2}}, s.hits()); diff != "" {
		t.Errorf("hits (-want +got):\n%s", diff)
	}
}

// A client on a busy machine opens connections in reserve. If an outage reset such a connection, a request on it after the outage
// would fail, and count as a false alarm.
func TestOutageSparesConnectionsInReserve(t *testing.T) {
	o := &outage{}
	s, err := serve(t.Context(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	o.number.Store(1)
	var dialer net.Dialer
	c, err := dialer.DialContext(t.Context(), "tcp", strings.Trim(strings.TrimPrefix(s.url, "http://"), "/"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := get(t, s.url, "w/fresh/1"); !errors.Is(err, syscall.ECONNRESET) { // connections are accepted in order
		t.Errorf("a request in the outage: %v", err)
	}
	o.number.Store(0)
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\nX-Holdfast-Id: w/reused/1\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	status, err := bufio.NewReader(c).ReadString('\n')
	if status != "HTTP/1.1 200 OK\r\n" || len(s.hits()["w/reused/1"]) > 0 {
		t.Errorf("a request after the outage: %q, %v, hits %v", status, err, s.hits())
	}
}

// One request of each block is lost, at random. The three ways of losing it take turns.
func TestLosses(t *testing.T) {
	const every, blocks = 50, 30
	l := newLosses(every, rand.New(rand.NewPCG(1, 2)))
	at := map[int]bool{}
	for block := range blocks {
		lost := 0
		for i := range every {
			id := fmt.Sprintf("%d/%d", block, i)
			kind := l.next(id)
			if kind != l.lost[id] {
				t.Fatalf("%s: %d, and %d is known", id, kind, l.lost[id])
			}
			if kind != answered {
				lost++
				at[i] = true
				if want := byReset + loss(block%3); kind != want {
					t.Errorf("block %d was lost by %d, want %d", block, kind, want)
				}
			}
		}
		if lost != 1 {
			t.Errorf("%d of block %d were lost", lost, block)
		}
	}
	if len(at) < 10 {
		t.Errorf("lost at %v of a block: that is not random", at)
	}
}

// The client gets no answer to a lost request, however it is lost.
func TestServerLoses(t *testing.T) {
	l := newLosses(1, rand.New(rand.NewPCG(1, 2)))
	s, err := serve(t.Context(), &outage{}, l)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := get(t, s.url, "1"); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("by reset: %v", err)
	}
	if _, err := get(t, s.url, "2"); !errors.Is(err, io.EOF) {
		t.Errorf("by close: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := http.DefaultClient.Do(r); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("by silence: %v", err)
		_ = answer.Body.Close()
	}
}

// record is a record with these rows.
func record(rows ...history.Request) history.Run {
	return history.Run{Requests: func() iter.Seq2[*history.Request, error] {
		return func(yield func(*history.Request, error) bool) {
			for i := range rows {
				if !yield(&rows[i], nil) {
					return
				}
			}
		}
	}}
}

const ms = time.Millisecond

// row is a request that was sent on time and took a millisecond.
func row(lane history.Lane, seq uint64, due time.Duration, o history.Outcome) history.Request {
	return history.Request{Worker: "w", Lane: lane, Seq: seq, Due: due, Sent: due, Done: due + ms, Outcome: o}
}

// An outage is seen if a request that it reset has a failed row. An outage that was missed because the lane was late counts, too, and so
// does an outage that became longer, if it was missed. Any other failure is a false alarm, except for a time-out.
func TestOutageRows(t *testing.T) {
	base := time.Now()
	at := func(from, to time.Duration, of time.Duration) window {
		return window{base.Add(from), base.Add(to), of, to-from > of+outageSlack}
	}
	windows := []window{
		at(100*ms, 105*ms, 5*ms), // seen by fresh
		at(200*ms, 205*ms, 5*ms), // met no request
		at(300*ms, 305*ms, 5*ms), // fresh was late
		at(400*ms, 409*ms, 5*ms), // too long: it does not count for fresh, which saw it, and its failure is no false alarm
		at(500*ms, 510*ms, 10*ms),
	}
	hits := map[string][]int64{ // the numbers of the windows above, from 1
		"w/fresh/1": {1}, "w/fresh/4": {4}, "w/fresh/5": {5}, "w/reused/1": {3},
	}
	late := row(history.LaneFresh, 3, 301*ms, history.OK)
	late.Sent, late.Done = late.Sent+5*ms, late.Done+5*ms
	run := record(
		row(history.LaneFresh, 1, 101*ms, history.Reset), row(history.LaneFresh, 2, 201*ms, history.OK), late,
		row(history.LaneFresh, 4, 405*ms, history.Reset), row(history.LaneFresh, 5, 505*ms, history.Reset),
		row(history.LaneFresh, 6, 600*ms, history.Reset), row(history.LaneFresh, 7, 700*ms, history.TimeoutResponse),
		row(history.LaneReused, 1, 305*ms, history.Masked), row(history.LaneReused, 2, 505*ms, history.Unsent),
	)
	rows, err := outageRows(run, base, 100, windows, hits)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range rows {
		text := fmt.Sprintf("%s every %g ms, %d requests, late %d, false %d, timed out %d:", strings.Join(r.Lanes, "+"), r.GapMilliseconds,
			r.Requests, r.Late, r.FalseAlarms, r.TimedOut)
		for _, l := range r.Lengths[1:3] {
			text += fmt.Sprintf(" %g: %d of %d, late %d, missed late %d (%.2f)", l.Milliseconds, l.Seen.Seen, l.Seen.Of, l.Late, l.MissedLate, l.Expected)
		}
		got = append(got, text)
	}
	want := []string{
		"fresh every 10 ms, 7 requests, late 1, false 1, timed out 1: 5: 1 of 3, late 1, missed late 1 (0.50) 10: 1 of 1, late 0, missed late 0 (1.00)",
		"reused every 10 ms, 2 requests, late 1, false 0, timed out 0: 5: 1 of 4, late 0, missed late 0 (0.50) 10: 0 of 1, late 1, missed late 1 (1.00)",
		"fresh+reused every 5 ms, 9 requests, late 2, false 1, timed out 1: 5: 2 of 3, late 1, missed late 0 (1.00) 10: 1 of 1, late 1, missed late 0 (1.00)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The shorter an outage is, relative to the gap between requests, the less late they may be.
func TestAllowedLag(t *testing.T) {
	for _, test := range []struct{ length, gap, want time.Duration }{
		{2 * ms, 10 * ms, 2 * ms}, {10 * ms, 10 * ms, 2 * ms}, {11 * ms, 10 * ms, ms}, {10100 * time.Microsecond, 10 * ms, ms / 2},
		{20 * ms, 10 * ms, 2 * ms}, {2 * ms, ms, ms},
	} {
		if got := allowedLag(test.length, test.gap); got != test.want {
			t.Errorf("%s of a gap of %s: %s, want %s", test.length, test.gap, got, test.want)
		}
	}
	n := &laneRows{late: []lateness{{10 * ms, 3 * ms}, {20 * ms, ms}, {30 * ms, neverSent}}}
	for _, test := range []struct {
		s    span
		want bool
	}{
		{span{12 * ms, 14 * ms}, true}, {span{22 * ms, 24 * ms}, false}, {span{26 * ms, 30 * ms}, true}, {span{40 * ms, 41 * ms}, false},
		{span{1 * ms, 9 * ms}, false},
	} {
		if got := test.s.lateIn(n, 5*ms, 2*ms); got != test.want {
			t.Errorf("%v: %t", test.s, got)
		}
	}
}

// A window is widened by the uncertainty of the clocks.
func TestWindowsAreWidened(t *testing.T) {
	base := time.Now()
	w := window{base.Add(100 * ms), base.Add(110 * ms), 10 * ms, false}
	if got := w.on(base, 2*ms); got != (span{98 * ms, 112 * ms}) {
		t.Errorf("got %v", got)
	}
}

func TestLossRow(t *testing.T) {
	l := newLosses(10, nil)
	l.lost = map[string]loss{"w/fresh/1": byReset, "w/reused/1": byClose, "w/reused/2": bySilence, "w/fresh/2": byReset}
	got, err := lossRow(record(
		row(history.LaneFresh, 1, 0, history.Reset), row(history.LaneFresh, 2, 0, history.OK), row(history.LaneFresh, 3, 0, history.Truncated),
		row(history.LaneReused, 1, 0, history.Masked), row(history.LaneReused, 2, 0, history.TimeoutResponse),
		row(history.LaneReused, 3, 0, history.TimeoutResponse), row(history.LaneReused, 4, 0, history.Unsent),
	), 100, l)
	want := LossRow{RatePerSecond: 100, Every: 10, Requests: 6, Seen: NewRate(3, 4), FalseAlarms: 1, TimedOut: 1}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// The whole measurement, briefly: every planned request has its row, and no request failed that no server failed, except by time-out.
func TestMeasure(t *testing.T) {
	dir := t.TempDir()
	var said []string
	i, err := Measure(t.Context(), Options{
		Dir: dir, Seed: 1, Trials: 2, Losses: time.Second, Soak: 500, Say: func(line string) { said = append(said, line) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(i.Outages) != len(Rates)*3 || len(i.Losses) != len(Rates) || i.Soak == nil {
		t.Fatalf("got %+v", i)
	}
	for _, r := range i.Outages {
		if r.Requests == 0 || r.FalseAlarms > 0 || len(r.Lengths) != len(Lengths) {
			t.Errorf("outages: %+v", r)
		}
	}
	for _, r := range i.Losses {
		if r.Seen.Seen != r.Seen.Of || r.FalseAlarms > 0 {
			t.Errorf("losses: %+v", r)
		}
	}
	s := i.Soak
	if s.Planned < 490 || s.Planned > 510 || s.Planned != s.Sent+s.Unsent || s.Planned != s.Rows || s.Failed != s.TimedOut || s.Judged != s.Failed {
		t.Errorf("soak: %+v", s)
	}
	if s.Verdict == "held" { // without a fault there is no evidence
		t.Errorf("soak: %s: %s", s.Verdict, s.Seen)
	}
	for _, part := range []string{"planted outages: 2 of 2 of each length", "single lost requests: 1 of 1 s"} {
		if all := strings.Join(said, "\n"); !strings.Contains(all, part) {
			t.Errorf("said\n%s\nwant %q", all, part)
		}
	}
	records, err := runfolder.Records(filepath.Join(dir, "instrument"))
	if err != nil || len(records) != 2*len(Rates)+1 {
		t.Errorf("records: %v, %v", records, err)
	}
}

// An interruption ends the measurement with an error, and no further part begins.
func TestMeasureIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Second, cancel)
	i, err := Measure(ctx, Options{Dir: t.TempDir(), Trials: 10_000, Losses: time.Hour, Soak: 100})
	if !errors.Is(err, context.Canceled) || i.Losses != nil || i.Soak != nil {
		t.Errorf("got %+v, %v", i, err)
	}
}

func TestMeasureNothing(t *testing.T) {
	i, err := Measure(t.Context(), Options{Dir: t.TempDir()})
	if err != nil || i.Outages != nil || i.Losses != nil || i.Soak != nil {
		t.Errorf("got %+v, %v", i, err)
	}
}

// A request that an outage reset needs a failed row of its own lane.
func TestUnrecorded(t *testing.T) {
	rows := &laneRows{failed: []history.Request{{Worker: "load-0", Lane: history.LaneFresh, Seq: 7}}}
	for _, test := range []struct {
		lane history.Lane
		want int
	}{{history.LaneFresh, 1}, {history.LaneReused, 1}, {history.LaneControl, 0}} {
		hits := map[string][]int64{"load-0/fresh/7": {1}, "load-0/fresh/8": {1}, "load-0/reused/7": {2, 3}}
		if got := unrecorded(test.lane, rows, hits); got != test.want {
			t.Errorf("%s: %d, want %d", test.lane, got, test.want)
		}
	}
}
