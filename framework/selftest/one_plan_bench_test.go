package selftest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/load/collect"
	"github.com/holdfast-ha/holdfast/workloads/backend"
)

// roleVariable makes the test binary run as a load worker of a name, or as a server, in a process of its own.
const roleVariable = "HOLDFAST_SELFTEST_ROLE"

func TestMain(m *testing.M) {
	role := os.Getenv(roleVariable)
	if role == "" {
		os.Exit(m.Run())
	}
	if err := playRole(role); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// playRole serves on a free port of loopback, prints its address, and ends at SIGTERM.
func playRole(role string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute) // the parent may be killed
	defer cancel()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + l.Addr().String())
	if role != "server" {
		return collect.RunWorker(ctx, collect.WorkerOptions{Name: role, Listener: l, Log: slog.New(slog.DiscardHandler)})
	}
	context.AfterFunc(ctx, func() { _ = l.Close() })
	for {
		c, err := l.Accept()
		if err != nil {
			return nil // closed
		}
		go serveByHit(c.(*net.TCPConn))
	}
}

// serveByHit answers, resets, closes and rejects by the number of the hit alone, as misbehaving does, and never waits.
func serveByHit(c *net.TCPConn) {
	defer c.Close() //nolint:errcheck // nothing is left to say
	in := bufio.NewReader(c)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		id := r.Header.Get(backend.HeaderID)
		k, err := strconv.ParseUint(id[strings.LastIndexByte(id, '/')+1:], 10, 64)
		if err != nil {
			return
		}
		status := "200 OK"
		switch {
		case k%97 == 5:
			_ = c.SetLinger(0)
			return
		case k%103 == 9:
			return
		case k%101 == 7:
			status = "503 Service Unavailable"
		}
		pod := 1 + k%6
		text := fmt.Sprintf("HTTP/1.1 %s\r\n%s: backend-%d\r\n%s: w%d\r\nContent-Length: %d\r\n\r\nok %s\n",
			status, backend.HeaderPod, pod, backend.HeaderNode, pod, len(id)+4, id)
		if _, err := io.WriteString(c, text); err != nil || r.Close {
			return
		}
	}
}

// process is a role in a process of its own.
type process struct {
	url     string
	command *exec.Cmd
}

func startRole(b *testing.B, role string) *process {
	b.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), roleVariable+"="+role)
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := command.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM) // a worker whose rows are collected has ended already
		if err := command.Wait(); err != nil {
			b.Errorf("%s: %v", role, err)
		}
	})
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		b.Fatalf("%s did not say where it listens", role)
	}
	return &process{url: lines.Text(), command: command}
}

// benchSpan is how long a plan of the benchmark is sent, and benchTries how often until a machine that is busy with something else has sent
// every hit in time.
const (
	benchSpan  = 6 * time.Second
	benchTries = 6
)

// BenchmarkOnePlan sends a plan from one process and from four, on real connections to a server that misbehaves by the number of the hit
// alone, and compares totals, rows and verdicts to the last request. Where the machine is too slow to send every hit in time, it says so.
func BenchmarkOnePlan(b *testing.B) {
	for _, rate := range []float64{2_500, 5_000, 10_000} {
		b.Run(fmt.Sprintf("rps=%g", rate), func(b *testing.B) {
			for b.Loop() {
				one, ones := sentInTime(b, 1, rate)
				four, fours := sentInTime(b, 4, rate)
				if one == nil || four == nil {
					b.Logf("not every hit was sent in time in %d tries: by one worker %t, by four %t", benchTries, one != nil, four != nil)
					b.ReportMetric(0, "equal")
					continue
				}
				compareHits(b, one, four)
				compareVerdicts(b, ones, fours)
				b.ReportMetric(1, "equal")
				b.ReportMetric(float64(len(one)), "hits")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// sentInTime sends the plan until every hit was sent, and returns what became of each, and the record; nil: not in as many tries.
func sentInTime(b *testing.B, workers int, rate float64) (hits map[uint64]history.Request, run history.Run) {
	b.Helper()
	for try := range benchTries {
		run = sendReally(b, workers, rate)
		hits = map[uint64]history.Request{}
		unsent := 0
		for r, err := range run.Requests() {
			if err != nil {
				b.Fatal(err)
			}
			if r.Outcome == history.Unsent || timedOut(r.Outcome) {
				unsent++
			}
			hits[r.Seq] = *r
		}
		b.Logf("%g a second from %d workers, try %d: %d rows, %d unsent or timed out", rate, workers, try+1, len(hits), unsent)
		if unsent == 0 {
			return hits, run
		}
	}
	return nil, run
}

// sendReally has processes send the plan once.
func sendReally(b *testing.B, workers int, rate float64) history.Run {
	b.Helper()
	dir := b.TempDir()
	plan := load.Plan{ID: "one", Duration: benchSpan, Lanes: []load.Lane{{
		Lane: history.LaneReused, Target: startRole(b, "server").url + "/", Rate: rate,
	}}}
	header := history.Header{Scenario: "test/one-plan", Plan: &history.Plan{Lanes: []history.LanePlan{{Lane: history.LaneReused, RatePerSecond: rate}}}}
	sink, err := history.Create(dir, header)
	if err != nil {
		b.Fatal(err)
	}
	var all []collect.Worker
	for i := range workers {
		all = append(all, collect.Worker{URL: startRole(b, fmt.Sprintf("load-%d", i)).url})
	}
	session, err := collect.Start(b.Context(), &http.Client{Transport: &http.Transport{}}, all, plan, sink)
	if err != nil {
		b.Fatal(err)
	}
	time.Sleep(benchSpan + time.Second)
	if err := errors.Join(session.Stop(b.Context()), sink.Close()); err != nil {
		b.Fatal(err)
	}
	run, err := history.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	return run
}

// compareHits compares what became of each hit: the same number failed in the same way, and was due at the same moment of the plan. Whether a
// request that failed had a new connection depends on which requests of its worker failed before.
func compareHits(b *testing.B, one, four map[uint64]history.Request) {
	b.Helper()
	differ := 0
	for k := range uint64(max(len(one), len(four))) {
		x, inOne := one[k]
		y, inFour := four[k]
		off := (x.Due - one[0].Due) - (y.Due - four[0].Due)
		if inOne && inFour && x.Outcome == y.Outcome && x.Status == y.Status && (x.Pod == y.Pod || x.Inferred || y.Inferred) && off.Abs() < 2*time.Microsecond {
			continue
		}
		if differ++; differ < 5 {
			b.Errorf("hit %d: of one worker %+v, of four %+v", k, x, y)
		}
	}
	if differ > 0 {
		b.Errorf("%d of %d hits differ", differ, len(one))
	}
}

// compareVerdicts compares the verdicts on the records as drains of the same length, with what does not depend on how late requests were.
func compareVerdicts(b *testing.B, one, four history.Run) {
	b.Helper()
	judged := func(run history.Run) (outcome string) {
		v := judge.Check(asDrain(b, run, benchSpan), promises()[0])
		return fmt.Sprintf("%s, failed %v of %v, %v", v.Outcome, v.Numbers["failed"], v.Numbers["requests.reused"], v.Kind)
	}
	x, y := judged(one), judged(four)
	b.Logf("one worker: %s; four: %s", x, y)
	if x != y {
		b.Errorf("one worker: %s; four: %s", x, y)
	}
}
