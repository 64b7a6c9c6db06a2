//go:build e2e && linux

package cli

import (
	"bufio"
	"math"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// paced is the scenario that BenchmarkPace runs: it has load, and pods that end and start.
const paced = "chaos/rolling-update"

// pace is what a user waits for, and what the harness takes meanwhile.
type pace struct {
	load, verdict time.Duration // from the start of the command
	cpu           time.Duration
	peakBytes     float64
	requests      float64
	podEvents     float64
}

// BenchmarkPace measures a run from the start of the command: until its first request is sent and until its verdict is printed, on a cluster
// that the run makes, and on one that `holdfast up` has kept. It also gives the CPU time of the harness for each request and for each change
// of a pod, each with all of the CPU time, and its peak of memory. Metrics are medians. It needs bin/holdfast (make build):
//
//	go test -tags e2e -run '^$' -bench Pace -benchtime 3x -timeout 1h ./framework/cli
func BenchmarkPace(b *testing.B) {
	bin := binary(b)
	for name, run := range map[string]func(b *testing.B) []string{
		"new":  func(*testing.B) []string { return nil },
		"kept": func(b *testing.B) []string { return []string{"--cluster", keep(b, bin)} },
	} {
		b.Run(name, func(b *testing.B) {
			args := append([]string{"run", paced}, run(b)...)
			var all []pace
			for b.Loop() {
				all = append(all, timed(b, bin, args))
			}
			middle := func(of func(pace) float64) float64 {
				values := make([]float64, len(all))
				for i, p := range all {
					values[i] = of(p)
				}
				slices.Sort(values)
				return values[len(values)/2]
			}
			b.ReportMetric(middle(func(p pace) float64 { return p.load.Seconds() }), "first-load-s")
			b.ReportMetric(middle(func(p pace) float64 { return p.verdict.Seconds() }), "verdict-s")
			b.ReportMetric(middle(func(p pace) float64 { return p.cpu.Seconds() * 1e6 / p.requests }), "cpu-µs/request")
			b.ReportMetric(middle(func(p pace) float64 { return p.cpu.Seconds() * 1e3 / p.podEvents }), "cpu-ms/pod-event")
			b.ReportMetric(middle(func(p pace) float64 { return p.peakBytes / 1e6 }), "peak-MB")
			b.ReportMetric(0, "ns/op") // the time of a whole run is that of the scenario's own phases
		})
	}
}

// keep makes a cluster and removes it after the benchmark. A first run gives its nodes the images.
func keep(b *testing.B, bin string) (name string) {
	b.Helper()
	const cluster = "pace"
	command(b, bin, "up", cluster)
	b.Cleanup(func() { command(b, bin, "down", cluster) })
	timed(b, bin, []string{"run", paced, "--cluster", cluster})
	return cluster
}

func command(b *testing.B, bin string, args ...string) {
	b.Helper()
	if out, err := exec.Command(bin, args...).CombinedOutput(); err != nil {
		b.Fatalf("holdfast %q: %v\n%s", args, err, out)
	}
}

// timed runs a command, and reads from its record when the first request was sent.
func timed(b *testing.B, bin string, args []string) (p pace) {
	b.Helper()
	dir := b.TempDir()
	c := exec.Command(bin, append(slices.Clone(args), "--artifacts", dir)...)
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	c.Stderr = c.Stdout
	begun := time.Now()
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	var said []string
	for lines := bufio.NewScanner(out); lines.Scan(); said = append(said, lines.Text()) {
		if p.verdict == 0 && strings.HasPrefix(lines.Text(), "  HELD in ") {
			p.verdict = time.Since(begun)
		}
	}
	if err := c.Wait(); err != nil || p.verdict == 0 {
		b.Fatalf("holdfast %q: %v\n%s", args, err, strings.Join(said, "\n"))
	}
	p.cpu = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	p.peakBytes = float64(c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) * 1024 // kB: getrusage(2)
	p.read(b, filepath.Join(dir, "latest", filepath.FromSlash(paced)), begun)
	return p
}

// read takes from the record what the process does not tell.
func (p *pace) read(b *testing.B, dir string, begun time.Time) {
	b.Helper()
	run, err := history.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	first := history.Offset(math.MaxInt64)
	for r, err := range run.Requests() {
		if err != nil {
			b.Fatal(err)
		}
		p.requests++
		if r.Outcome != history.Unsent {
			first = min(first, r.Sent)
		}
	}
	p.load = run.Header.Base.Add(first).Sub(begun)
	for _, e := range run.Events {
		if e.Pod != nil {
			p.podEvents++
		}
	}
}
