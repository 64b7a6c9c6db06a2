package collect

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
)

// Of hundreds of load workers only the wire is real here, and the whole harness: each worker is a server of the real API with rows that
// were made beforehand, packed as real rows are, of which it closes a segment every two seconds.

// simulation is how much load is simulated.
type simulation struct {
	Workers, RatePerWorker, Seconds int
	SpillAbove                      int64 // bytes in memory of each worker; 0: it does not spill
	Dir                             string
}

// simulated is what it cost.
type simulated struct {
	Rows             int
	Seconds          float64 // until all was collected
	HarnessCPU       float64 // seconds
	HarnessMemory    int64   // bytes, at most
	Received         int64   // bytes
	Calls            int64
	Record           int64 // bytes on disk
	MostWaiting      int   // rows at the workers, at most
	SpilledMost      int64 // bytes on the workers' disks, at most
	LagSeconds       float64
	JudgePerMillion  float64 // seconds
	InMemoryAtWorker int64   // bytes of one worker, at most
}

// rowsFor makes the rows of a segment as a worker writes them.
func rowsFor(worker string, share history.Share, lane load.Lane, from history.Offset, n int, random *rand.Rand) []byte {
	encoder := history.NewEncoder()
	csv := encoder.AppendHeader(nil)
	first := share.Nth(uint64(from.Seconds() * lane.Rate))
	for i := range n {
		k := share.Hit(first + uint64(i))
		due := time.Hour + history.Offset(float64(k)/lane.Rate*1e9) // after the record began, whichever process did first
		sent := due + history.Offset(random.IntN(200_000))
		pod := int(k % 30)
		csv = encoder.Append(csv, &history.Request{
			Worker: worker, Lane: lane.Lane, Seq: k, Due: due, Sent: sent, Done: sent + history.Offset(500_000+random.IntN(3_000_000)),
			Outcome: history.OK, Status: 200, Attempts: 1, Bytes: 24, Conn: k % 32, Reused: true, Addr: fmt.Sprintf("10.244.%d.%d:8080", pod%6, pod),
			Pod: fmt.Sprintf("backend-6c8f9d7b5-%05d", pod), Node: fmt.Sprintf("worker%d", pod%6), Zone: string(rune('a' + pod%3)), Revision: "6c8f9d7b5",
		})
	}
	return csv
}

// serveSimulated serves workers on one listener, each below its own path, and feeds them with segments from the moment on at which the
// first is asked to begin. It prints the most that waited at any time when it ends.
func serveSimulated(ctx context.Context, l net.Listener, s simulation) error {
	log := slog.New(slog.DiscardHandler)
	mux := http.NewServeMux()
	lane := load.Lane{Lane: history.LaneReused, Target: "http://127.0.0.1:1/", Rate: float64(s.Workers * s.RatePerWorker)}
	all := make([]*playing, s.Workers)
	segments := s.Seconds / 2
	made := make([][][]byte, s.Workers)
	for i := range all {
		name := fmt.Sprintf("load-%d-abcde", i)
		w := &worker{ctx: ctx, name: name, instance: name, clock: clockFrom(time.Now()), log: log, collected: make(chan struct{})}
		plan := load.Plan{ID: "simulated", Lanes: []load.Lane{lane}, Share: history.Share{Index: i, Workers: s.Workers}}
		p := &playing{plan: plan, started: make(chan struct{}), finished: make(chan struct{})}
		if s.SpillAbove > 0 {
			dir := filepath.Join(s.Dir, name)
			if err := os.Mkdir(dir, 0o755); err != nil {
				return err
			}
			p.segments.spill = Spill{Dir: dir, AboveBytes: s.SpillAbove, MaxBytes: 1 << 30}
		}
		var err error
		if p.attack, err = load.NewAttack(ctx, plan, w.options(&p.segments)); err != nil {
			return err
		}
		w.current, all[i] = p, p
		random := rand.New(rand.NewPCG(uint64(i), 1))
		for n := range segments {
			made[i] = append(made[i], rowsFor(name, plan.Share, lane, time.Duration(2*n)*time.Second, 2*s.RatePerWorker, random))
		}
		prefix := "/w" + strconv.Itoa(i)
		mux.Handle(prefix+"/", http.StripPrefix(prefix, w.api()))
	}
	// Packing is the workers' own work, on machines of their own: it is done before the clock of the simulation begins.
	packed := make([]segmentStore, s.Workers)
	for i := range made {
		for _, csv := range made[i] {
			if err := packed[i].Put(csv, 2*s.RatePerWorker); err != nil {
				return err
			}
		}
		made[i] = nil
	}
	var most atomic.Int64
	var inMemory, inFiles atomic.Int64
	mux.HandleFunc("POST /go", func(http.ResponseWriter, *http.Request) {
		go func() {
			began := time.Now()
			for n := range segments {
				time.Sleep(time.Until(began.Add(time.Duration(2*(n+1)) * time.Second)))
				var waiting, files, memory int64
				for i, p := range all {
					p.segments.keep(segment{Segment: Segment{Rows: 2 * s.RatePerWorker}, packed: packed[i].segments[n].packed})
					p.segments.mu.Lock()
					for _, one := range p.segments.segments {
						waiting += int64(one.Rows)
					}
					files += p.segments.inFiles
					memory = max(memory, p.segments.inMemory)
					p.segments.mu.Unlock()
				}
				most.Store(max(most.Load(), waiting))
				inFiles.Store(max(inFiles.Load(), files))
				inMemory.Store(max(inMemory.Load(), memory))
			}
		}()
	})
	mux.HandleFunc("GET /most", func(rw http.ResponseWriter, _ *http.Request) {
		answer(rw, map[string]int64{"rows": most.Load(), "files": inFiles.Load(), "memory": inMemory.Load()})
	})
	server := newServer(mux)
	context.AfterFunc(ctx, func() { _ = server.Close() })
	fmt.Println("http://" + l.Addr().String())
	if err := server.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}

// counted counts what a client receives.
type counted struct {
	http.RoundTripper
	bytes, calls atomic.Int64
}

func (c *counted) RoundTrip(r *http.Request) (*http.Response, error) {
	c.calls.Add(1)
	answer, err := c.RoundTripper.RoundTrip(r)
	if err == nil {
		answer.Body = &countedBody{answer.Body, &c.bytes}
	}
	return answer, err
}

type countedBody struct {
	io.ReadCloser
	bytes *atomic.Int64
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.bytes.Add(int64(n))
	return n, err
}

// harness collects from simulated workers into a record, with the real collectors, and returns what that cost this process.
func harness(ctx context.Context, url string, s simulation) (cost simulated, err error) {
	dir := filepath.Join(s.Dir, "record")
	sink, err := history.Create(dir, history.Header{Scenario: "test/simulated", Plan: &history.Plan{}})
	if err != nil {
		return cost, err
	}
	client := &counted{RoundTripper: &http.Transport{MaxIdleConnsPerHost: s.Workers}}
	plan := load.Plan{ID: "simulated", Lanes: []load.Lane{{Lane: history.LaneReused, Target: "http://127.0.0.1:1/", Rate: float64(s.Workers * s.RatePerWorker)}}}
	decode := newDecoders(runtime.GOMAXPROCS(0))
	var all []*collector
	for i := range s.Workers {
		part := plan
		part.Share = history.Share{Index: i, Workers: s.Workers}
		c := &collector{plan: part, sink: sink, decode: decode, recorded: make(map[history.Lane]uint64),
			remote: newRemote(&http.Client{Transport: client}, Worker{URL: fmt.Sprintf("%s/w%d", url, i)}, sink.Now)}
		worker, first, err := c.remote.estimate(ctx)
		if err != nil {
			return cost, err
		}
		if c.rows, err = sink.Requests(worker); err != nil {
			return cost, err
		}
		c.clock, _ = newClock(worker, first, sink.Now())
		all = append(all, c)
	}
	began, before := time.Now(), cpuNow()
	if err := post(ctx, url+"/go"); err != nil {
		return cost, err
	}
	want := s.Seconds / 2 * 2 * s.RatePerWorker
	every := max(collectEvery, time.Duration(s.Workers)*time.Second/maxAsksPerSecond)
	var collecting sync.WaitGroup
	errs := make([]error, len(all))
	for i, c := range all {
		collecting.Go(func() {
			for errs[i] == nil && int(c.recorded[history.LaneReused]) < want {
				if errs[i] = c.collectAll(ctx); errs[i] == nil {
					time.Sleep(every)
				}
			}
		})
	}
	collecting.Wait()
	for _, err := range errs {
		if err != nil {
			return cost, err
		}
	}
	if err := sink.Close(); err != nil {
		return cost, err
	}
	cost.Seconds, cost.HarnessCPU = time.Since(began).Seconds(), cpuNow()-before
	cost.Rows, cost.Received, cost.Calls = want*s.Workers, client.bytes.Load(), client.calls.Load()
	cost.HarnessMemory = peakMemory()
	cost.Record = sizeOf(dir)
	cost.JudgePerMillion, err = readAgain(dir, cost.Rows)
	return cost, err
}

func post(ctx context.Context, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err == nil {
		err = answer.Body.Close()
	}
	return err
}

// readAgain reads a record as every verdict does, and returns the seconds of a million rows.
func readAgain(dir string, want int) (float64, error) {
	began := time.Now()
	run, err := history.Open(dir)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, err := range run.Requests() {
		if err != nil {
			return 0, err
		}
		n++
	}
	if n != want || run.Incomplete != "" {
		return 0, fmt.Errorf("the record has %d rows of %d: %s", n, want, run.Incomplete)
	}
	return time.Since(began).Seconds() / float64(n) * 1e6, nil
}

func cpuNow() float64 {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // of this process, which exists
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

// peakMemory is the most memory that this process has had, in bytes.
func peakMemory() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil { // macOS has no /proc, and counts in bytes
		var usage syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // of this process, which exists
		return usage.Maxrss
	}
	for line := range strings.Lines(string(status)) {
		if text, is := strings.CutPrefix(line, "VmHWM:"); is {
			kib, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "kB")), 10, 64)
			return kib << 10
		}
	}
	return 0
}

func sizeOf(dir string) (bytes int64) {
	_ = filepath.WalkDir(dir, func(_ string, e os.DirEntry, err error) error {
		if info, statErr := e.Info(); err == nil && statErr == nil && !e.IsDir() {
			bytes += info.Size()
		}
		return err
	})
	return bytes
}

// simulationOf reads what a role is to simulate from its environment.
func simulationOf() (s simulation, err error) {
	return s, json.Unmarshal([]byte(os.Getenv(simulationVariable)), &s)
}

const simulationVariable = "HOLDFAST_LOAD_TEST_SIMULATION"

// BenchmarkManyWorkers measures what the load of hundreds of workers costs the harness: its memory and processor time, what comes over the
// network, and what waits at the workers, or on their disks, because the harness cannot keep up. Workers and harness are processes of
// their own.
func BenchmarkManyWorkers(b *testing.B) {
	for _, s := range []simulation{
		{Workers: 4, RatePerWorker: 2500, Seconds: 20},
		{Workers: 50, RatePerWorker: 2000, Seconds: 20},
		{Workers: 200, RatePerWorker: 500, Seconds: 20},
		{Workers: 200, RatePerWorker: 5000, Seconds: 8},
		{Workers: 200, RatePerWorker: 5000, Seconds: 8, SpillAbove: 300 << 10}, // spills what waits for two segments
	} {
		name := fmt.Sprintf("workers=%d,rps=%d", s.Workers, s.Workers*s.RatePerWorker)
		if s.SpillAbove > 0 {
			name += ",spill"
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s.Dir = b.TempDir()
				report(b, s, simulate(b, s))
			}
		})
	}
}

func simulate(tb testing.TB, s simulation) (cost simulated) {
	tb.Helper()
	encoded, err := json.Marshal(s)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Setenv(simulationVariable, string(encoded))
	workers := startRole(tb, "simulated")
	tb.Setenv(targetVariable, workers.url)
	collecting := startRole(tb, "harness") // it prints its result in place of a URL
	if err := json.Unmarshal([]byte(collecting.url), &cost); err != nil {
		tb.Fatalf("%s: %v", collecting.url, err)
	}
	if err := collecting.command.Wait(); err != nil { // it ends by itself; a signal in its last moment would kill it
		tb.Fatalf("end %s: %v", collecting.command, err)
	}
	var most map[string]int64
	answer, err := http.Get(workers.url + "/most")
	if err != nil {
		tb.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // read only
	if err := json.NewDecoder(answer.Body).Decode(&most); err != nil {
		tb.Fatal(err)
	}
	cost.MostWaiting, cost.SpilledMost, cost.InMemoryAtWorker = int(most["rows"]), most["files"], most["memory"]
	cost.LagSeconds = cost.Seconds - float64(s.Seconds)
	return cost
}

func report(b *testing.B, s simulation, c simulated) {
	million := float64(c.Rows) / 1e6
	b.ReportMetric(c.HarnessCPU/million, "cpu-s/Mrow")
	b.ReportMetric(float64(c.HarnessMemory)/(1<<20), "MiB")
	b.ReportMetric(float64(c.Received)/float64(c.Rows), "B/row-wire")
	b.ReportMetric(float64(c.Record)/float64(c.Rows), "B/row-disk")
	b.ReportMetric(float64(c.Calls)/c.Seconds, "calls/s")
	b.ReportMetric(c.JudgePerMillion, "read-s/Mrow")
	b.ReportMetric(c.LagSeconds, "behind-s")
	b.ReportMetric(float64(c.MostWaiting), "rows-waiting")
	b.ReportMetric(float64(c.SpilledMost)/(1<<20), "MiB-spilled")
	b.ReportMetric(0, "ns/op")
	b.Logf("%d workers, %d rows: %+v", s.Workers, c.Rows, c)
}

// TestSimulatedWorkers keeps the simulation true: a small one is collected to the last row, whose numbers are the plan's.
func TestSimulatedWorkers(t *testing.T) {
	s := simulation{Workers: 7, RatePerWorker: 100, Seconds: 4, SpillAbove: 1}
	s.Dir = t.TempDir()
	c := simulate(t, s)
	if c.Rows != 7*400 || c.Received < int64(c.Rows)*10 || c.Record < int64(c.Rows)*60 || c.HarnessMemory < 1<<20 || c.SpilledMost == 0 || c.MostWaiting == 0 {
		t.Errorf("%+v", c)
	}
	run, err := history.Open(filepath.Join(s.Dir, "record"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[uint64]bool{}
	for r, err := range run.Requests() {
		if err != nil {
			t.Fatal(err)
		}
		if seen[r.Seq] {
			t.Errorf("hit %d has two rows", r.Seq)
		}
		seen[r.Seq] = true
	}
	for k := range uint64(c.Rows) {
		if !seen[k] {
			t.Fatalf("hit %d of %d has no row", k, c.Rows)
		}
	}
}
