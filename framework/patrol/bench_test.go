package patrol_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/audit"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/patrol/scaletest"
)

var (
	benchPods = flag.Int("pods", 5000, "the size of the benchmark's cluster")
	benchSpan = flag.Duration("span", 5*time.Minute, "for how long the benchmark measures")
	benchEnv  = flag.String("patrol-env", "GOMEMLIMIT=80MiB", "the environment of the benchmark's patrol, as its manifest has it")
)

// scrapes is how often the benchmark asks for the metrics, as a ServiceMonitor does.
const scrapes = 30 * time.Second

// BenchmarkPatrol measures the memory and the CPU of a patrol, which is a process of its own, in a cluster of 5,000 pods. It is scraped as
// often as in a cluster, and its page is looked at as often. The aims are 150 MB and 50 m of a CPU.
func BenchmarkPatrol(b *testing.B) {
	server, podBytes, err := scaletest.New(*benchPods, audit.PageSize, audit.MapPageSize)
	if err != nil {
		b.Fatal(err)
	}
	api := httptest.NewServer(server)
	defer api.Close()
	b.Logf("%d pods of %d bytes of JSON each", *benchPods, podBytes)
	for b.Loop() {
		p := startPatrol(b, buildHoldfast(b), api.URL)
		p.awaitReady(b)
		before, lists := p.cpu(b), server.Lists.Load()
		began := time.Now()
		for time.Since(began) < *benchSpan {
			p.get(b, "/metrics")
			p.get(b, "/")
			if err := poll.Pass(b.Context(), scrapes); err != nil {
				b.Fatal(err)
			}
		}
		took := time.Since(began)
		b.ReportMetric(float64((p.cpu(b)-before).Milliseconds())/took.Seconds(), "mCPU")
		b.ReportMetric(p.peak(b)/1e6, "MB-peak")
		b.ReportMetric(float64(server.Lists.Load()-lists), "rounds")
		b.ReportMetric(float64(strings.Count(p.get(b, "/metrics"), "\nholdfast_workload_")), "series")
	}
}

func buildHoldfast(b *testing.B) string {
	b.Helper()
	program := filepath.Join(b.TempDir(), "holdfast")
	build := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, "github.com/holdfast-ha/holdfast")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return program
}

// process is a patrol in a process of its own.
type process struct {
	pid int
	url string
}

func startPatrol(b *testing.B, program, api string) process {
	b.Helper()
	config := filepath.Join(b.TempDir(), "config")
	text := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [{"name": "c", "cluster": {"server": %q}}],
"contexts": [{"name": "c", "context": {"cluster": "c"}}]}`, api)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close()
	ctx, cancel := context.WithCancel(b.Context())
	cmd := exec.CommandContext(ctx, program, "audit", "--serve", address, "--kubeconfig", config)
	cmd.Stderr, cmd.Env = os.Stderr, append(os.Environ(), strings.Fields(*benchEnv)...)
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
	})
	return process{cmd.Process.Pid, "http://" + address}
}

// startLimit is generous: the first reading takes a second or two.
const startLimit = time.Minute

func (p process) awaitReady(b *testing.B) {
	b.Helper()
	err := poll.Until(b.Context(), "the patrol to be ready", startLimit, func(ctx context.Context) (bool, string, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/readyz", http.NoBody)
		if err != nil {
			return false, "", err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false, "", err
		}
		return response.StatusCode == http.StatusOK, response.Status, response.Body.Close()
	})
	if err != nil {
		b.Fatal(err)
	}
}

func (p process) get(b *testing.B, path string) string {
	b.Helper()
	response, err := http.Get(p.url + path)
	if err != nil {
		b.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil || response.Body.Close() != nil || response.StatusCode != http.StatusOK {
		b.Fatalf("%s: %s, %v", path, response.Status, err)
	}
	return string(body)
}

// ticks is the kernel's unit of CPU time, the same on every architecture that Go runs on.
const ticks = 10 * time.Millisecond

// cpu is the CPU time that the process has used. In /proc's stat, the fields 14 and 15 follow the command's name in parentheses.
func (p process) cpu(b *testing.B) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	var sum time.Duration
	for _, field := range fields[11:13] {
		n, err := strconv.Atoi(field)
		if err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(n) * ticks
	}
	return sum
}

// peak is the most resident memory that the process has had, in bytes.
func (p process) peak(b *testing.B) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	kilobytes, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	if err != nil {
		b.Fatal(err)
	}
	return kilobytes * 1024
}
