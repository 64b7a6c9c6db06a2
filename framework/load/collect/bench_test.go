package collect

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
)

// Run the benchmarks of this package in one pass of some minutes:
//
//	go test -run '^$' -bench . -benchtime 1x -timeout 40m ./framework/load/collect
//
// The CPU time of a request is measured in rounds of both clients in turn, because a machine's speed drifts, against the same
// server in a process of its own. It is the user and system time of the client's process from its start to its end, divided by
// the number of answered requests. It includes starting up, planning, handing over the rows (holdfast) and writing the results
// to a file (vegeta).
const (
	benchRounds = 7
	benchTries  = 4 * benchRounds
	benchSpan   = 4 * time.Second
	// benchShare is the share of requests that must be answered for a round to count.
	benchShare = 0.9
	// benchConnections is the largest number of connections of either client. Without the limit, vegeta opens thousands on a
	// machine that stalls for a moment, and the machine runs out of ports.
	benchConnections = 1024
)

// BenchmarkCPUPerRequest compares the reused lane with the stock vegeta command line. Metrics are medians: microseconds of CPU
// time per request, and their ratio.
func BenchmarkCPUPerRequest(b *testing.B) {
	vegeta := buildVegeta(b)
	target := startRole(b, "target")
	for _, rate := range []int{2_000, 10_000} {
		b.Run(fmt.Sprintf("rps=%d", rate), func(b *testing.B) {
			for b.Loop() {
				var ours, stock, ratios []float64
				for tries := 0; len(ratios) < benchRounds; tries++ {
					if tries == benchTries {
						b.Fatalf("%d of %d rounds delivered the load: this machine is too slow or too busy", len(ratios), tries)
					}
					o := oursPerRequest(b, target.url, rate)
					s := stockPerRequest(b, vegeta, target.url, rate)
					if o == 0 || s == 0 {
						continue
					}
					b.Logf("round %d: holdfast %.1f µs, vegeta %.1f µs, ratio %.3f", len(ratios), o, s, o/s)
					ours, stock, ratios = append(ours, o), append(stock, s), append(ratios, o/s)
				}
				b.ReportMetric(median(ours), "holdfast-µs/req")
				b.ReportMetric(median(stock), "vegeta-µs/req")
				b.ReportMetric(median(ratios), "ratio")
				b.ReportMetric(0, "ns/op") // hides the length of the rounds, which means nothing
			}
		})
	}
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// oursPerRequest runs a worker and a session, and returns the worker's CPU time per request, in microseconds; zero when too few
// were answered.
func oursPerRequest(b *testing.B, target string, rate int) float64 {
	b.Helper()
	worker := startRole(b, "worker")
	plan := load.Plan{
		ID: "bench", Duration: benchSpan,
		Lanes: []load.Lane{{Lane: history.LaneReused, Target: target, Rate: float64(rate), InFlight: benchConnections}},
	}
	sink, err := history.Create(b.TempDir(), history.Header{})
	if err != nil {
		b.Fatal(err)
	}
	session, err := Start(b.Context(), http.DefaultClient, []Worker{{URL: worker.url}}, plan, sink)
	if err != nil {
		b.Fatal(err)
	}
	for !session.Totals().Finished {
		if session.Err() != nil {
			b.Fatal(session.Err())
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := session.Stop(b.Context()); err != nil {
		b.Fatal(err)
	}
	t := session.Totals()
	lane := session.Statuses()[0].Lanes[0]
	b.Logf("holdfast: sent %d, unsent %d, failed %d, lag p50 %s p99 %s max %s",
		t.Sent, t.Unsent, t.Failed, lane.LagP50, lane.LagP99, lane.LagMax)
	return perRequest(b, "holdfast", worker.stop(b), t.Sent-t.Failed, rate)
}

// perRequest returns the CPU time per answered request, and zero if too few were answered to compare the clients.
func perRequest(b *testing.B, who string, microseconds float64, answered uint64, rate int) float64 {
	b.Helper()
	if want := float64(rate) * benchSpan.Seconds(); float64(answered) < benchShare*want {
		b.Logf("%s: %d of %.0f requests were answered: this round does not count", who, answered, want)
		return 0
	}
	return microseconds / float64(answered)
}

// stockPerRequest runs the vegeta command and returns its CPU time per request, in microseconds; zero when too few were
// answered.
func stockPerRequest(b *testing.B, vegeta, target string, rate int) float64 {
	b.Helper()
	results := filepath.Join(b.TempDir(), "results.bin")
	attack := exec.CommandContext(b.Context(), vegeta, "attack", "-keepalive", fmt.Sprintf("-connections=%d", benchConnections),
		fmt.Sprintf("-max-connections=%d", benchConnections), "-timeout="+load.DefaultTimeouts.Request.String(), fmt.Sprintf("-rate=%d", rate), "-duration="+benchSpan.String(),
		"-output="+results)
	attack.Stdin = strings.NewReader("GET " + target + "\n")
	attack.Stderr = os.Stderr
	if err := attack.Run(); err != nil {
		b.Fatal(err)
	}
	out, err := exec.CommandContext(b.Context(), vegeta, "report", "-type=json", results).Output()
	if err != nil {
		b.Fatal(err)
	}
	var report struct {
		StatusCodes map[string]uint64 `json:"status_codes"`
	}
	if err := json.Unmarshal(out, &report); err != nil {
		b.Fatal(err)
	}
	answered := report.StatusCodes["200"]
	return perRequest(b, "vegeta", cpuMicroseconds(attack.ProcessState), answered, rate)
}

func cpuMicroseconds(p *os.ProcessState) float64 {
	return float64((p.UserTime() + p.SystemTime()).Nanoseconds()) / 1e3
}

// buildVegeta builds the vegeta command from the version of the module that this package uses as a library, with that module's
// own dependencies.
func buildVegeta(b *testing.B) string {
	b.Helper()
	list := exec.CommandContext(b.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/tsenart/vegeta/v12")
	dir, err := list.Output()
	if err != nil {
		b.Fatal(err)
	}
	program := filepath.Join(b.TempDir(), "vegeta")
	build := exec.CommandContext(b.Context(), "go", "-C", string(bytes.TrimSpace(dir)), "build", "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("build vegeta: %v\n%s", err, out)
	}
	return program
}

// role is this program running as a worker or a target in another process.
type role struct {
	url     string
	command *exec.Cmd
}

func startRole(b testing.TB, name string) *role {
	b.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), roleVariable+"="+name)
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := command.Start(); err != nil {
		b.Fatal(err)
	}
	r := &role{command: command}
	b.Cleanup(func() {
		if command.ProcessState == nil {
			r.stop(b)
		}
	})
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		b.Fatalf("%s did not say where it listens", name)
	}
	r.url = lines.Text()
	return r
}

// stop ends the process and returns its CPU time in microseconds.
func (r *role) stop(b testing.TB) float64 {
	b.Helper()
	if err := r.command.Process.Signal(syscall.SIGTERM); err != nil {
		b.Error(err)
	}
	if err := r.command.Wait(); err != nil {
		b.Errorf("end %s: %v", r.command, err)
	}
	return cpuMicroseconds(r.command.ProcessState)
}
