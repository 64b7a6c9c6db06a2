// Package scaling measures how costs grow with the size of a cluster and with the number of requests. Its benchmarks run bin/holdfast, which make
// builds, append what they measured to a file of one JSON object a line, and print the table of the file.
package scaling

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/run/provider"
)

const mib = 1 << 20

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// used is what a process took.
type used struct {
	wall, cpu float64 // in seconds
	memory    int64   // the most that was resident, in bytes; 0: not known
	outcome   string
}

// outcomes are the exit codes of the harness that are verdicts.
var outcomes = map[int]string{0: "held", 1: "violated", 5: "unknown"}

// run runs the harness, whose exit code has to be a verdict. Ctrl-C reaches the harness too: it undoes what it did, and its exit code ends the benchmark.
func run(b *testing.B, args ...string) (u used) {
	b.Helper()
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	cmd := exec.Command("../../bin/holdfast", args...) // its own reaction to an interrupt is waited for
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	began := time.Now()
	err := cmd.Run()
	state := cmd.ProcessState
	if state == nil {
		b.Fatal(err)
	}
	u.wall, u.cpu, u.outcome = time.Since(began).Seconds(), (state.UserTime() + state.SystemTime()).Seconds(), outcomes[state.ExitCode()]
	if u.outcome == "" {
		b.Fatalf("holdfast %s: %v", args[0], err)
	}
	var own syscall.Rusage
	// Linux counts the resident memory of this process at the fork as part of the child's peak, in KiB.
	//
	// Source: https://man7.org/linux/man-pages/man2/getrusage.2.html
	if r, is := state.SysUsage().(*syscall.Rusage); is && syscall.Getrusage(syscall.RUSAGE_SELF, &own) == nil && r.Maxrss > own.Maxrss {
		u.memory = r.Maxrss << 10
	}
	return u
}

// sizeOf is the size of all files in a folder, in bytes.
func sizeOf(dir string) (bytes int64) {
	must(0, filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			bytes += must(d.Info()).Size()
		}
		return err
	}))
	return bytes
}

// measured are the measurements of a file.
func measured(path string) (all []measurement) {
	for lines := json.NewDecoder(bytes.NewReader(must(os.ReadFile(path)))); lines.More(); {
		var m measurement
		must(0, lines.Decode(&m))
		all = append(all, m)
	}
	return all
}

// keep appends a measurement to a file, and returns all of the file.
func keep(path string, m measurement) []measurement {
	file := must(os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o644))
	must(0, errors.Join(json.NewEncoder(file).Encode(m), file.Close()))
	return measured(path)
}

var (
	onCluster = flag.String("cluster", "", "a cluster with simulated nodes, which is measured")
	pods      = flag.Int("pods", 1000, "pods on simulated nodes; with anti-affinity each needs a node of its own")
	scenario  = flag.String("scenario", "scale/drain", "what to run")
)

const (
	requestsFile = "requests.jsonl"
	clustersFile = "../../suites/scale/measured.jsonl"
)

// measurement is what a run at one size took, or judging and reporting a record of so many requests.
type measurement struct {
	At       time.Time `json:"at"`
	Scenario string    `json:"scenario,omitempty"`
	Timings  string    `json:"timings,omitempty"`
	Nodes    int       `json:"nodes,omitempty"` // simulated ones
	Pods     int       `json:"pods,omitempty"`  // on simulated nodes
	Requests int       `json:"requests,omitempty"`
	Outcome  string    `json:"outcome"`
	// Of the processes that ran the scenario and judged it, judged the record, and wrote the report: how long it took, the processor time, and the
	// most that was resident.
	RunSeconds   float64 `json:"runSeconds,omitempty"`
	RunCPU       float64 `json:"runCPUSeconds,omitempty"`
	RunBytes     int64   `json:"runBytes,omitempty"`
	JudgeSeconds float64 `json:"judgeSeconds,omitempty"`
	JudgeCPU     float64 `json:"judgeCPUSeconds"`
	JudgeBytes   int64   `json:"judgeBytes"`
	ReportCPU    float64 `json:"reportCPUSeconds,omitempty"`
	ReportBytes  int64   `json:"reportBytes,omitempty"`
	Events       int     `json:"events,omitempty"`
	Gaps         int     `json:"gaps,omitempty"` // in which a watch may have missed something, each marked in the record
	RecordBytes  int64   `json:"recordBytes"`
	PageBytes    int64   `json:"pageBytes,omitempty"` // of report.html
	// Of the scheduler during the run: pods that it bound, the mean of a successful attempt, and that of the time from the queue to the binding.
	Bound          int     `json:"bound,omitempty"`
	AttemptSeconds float64 `json:"attemptSeconds,omitempty"`
	BindSeconds    float64 `json:"bindSeconds,omitempty"`
	// Resident is how much of each program of the control plane was resident after the run, in bytes.
	Resident map[string]int64 `json:"resident,omitempty"`
}

// opened is the cluster of the flag.
func opened(b *testing.B) clusters.Cluster {
	return must(must(provider.Kind(b.Context(), os.Stderr, func(string) {})).Open(b.Context(), *onCluster))
}

// BenchmarkCluster measures what a scenario costs on a cluster of that size: the run, its record, and the control plane.
func BenchmarkCluster(b *testing.B) {
	c, dir := opened(b), b.TempDir()
	m := measurement{Scenario: *scenario, Timings: string(cmp.Or(c.Spec().Profile, clusters.Lab)), Nodes: c.Spec().SimulatedNodes, Pods: *pods}
	before := askScheduler(b, c)
	ran := run(b, "run", m.Scenario, "--cluster", c.Name(), "--simulated-nodes", strconv.Itoa(m.Nodes), "--simulated-pods", strconv.Itoa(m.Pods), "--timings", m.Timings, "--artifacts", dir)
	bound := askScheduler(b, c).since(b, before, m.Pods)
	m.Resident = map[string]int64{}
	programs := must(c.Nodes()[0].Exec(b.Context(), "ps", "-o", "comm=,rss=", "-C", "kube-apiserver,etcd,kube-scheduler,kube-controller,kwok"))
	for line := range strings.Lines(string(programs)) {
		var name string
		var kib int64
		must(fmt.Sscan(line, &name, &kib))
		m.Resident[name] += kib << 10
	}
	record := filepath.Join(dir, "last-attempt", m.Scenario)
	judged := run(b, "judge", record)
	if judged.outcome != ran.outcome {
		b.Fatalf("the run was %s, and its record is judged %s", ran.outcome, judged.outcome)
	}
	recorded := must(history.Open(record))
	for _, e := range recorded.Events {
		if e.Gap != nil {
			m.Gaps++
		}
	}
	m.At, m.Outcome, m.RunSeconds, m.RunCPU, m.RunBytes = time.Now().UTC(), ran.outcome, ran.wall, ran.cpu, ran.memory
	m.JudgeSeconds, m.JudgeCPU, m.JudgeBytes, m.RecordBytes, m.Events = judged.wall, judged.cpu, judged.memory, sizeOf(record), len(recorded.Events)
	m.Bound, m.AttemptSeconds, m.BindSeconds = int(bound[queue+"_count"]), bound.mean(attempt), bound.mean(queue)
	all := slices.DeleteFunc(keep(clustersFile, m), func(other measurement) bool {
		return other.Scenario != m.Scenario || other.Timings != m.Timings // a slope over several would be that of none
	})
	_, _ = fmt.Print(clusterTable(all))
}

// clusterTable has a row for each measurement, the smallest first, and the slopes over those that differ in one size.
func clusterTable(all []measurement) string {
	slices.SortFunc(all, func(a, b measurement) int {
		return cmp.Or(cmp.Compare(a.Nodes, b.Nodes), cmp.Compare(a.Pods, b.Pods), a.At.Compare(b.At))
	})
	var growth []slopes
	add := func(size, same string, of, other func(measurement) float64) {
		ofSame := map[float64][]measurement{}
		for _, m := range all {
			ofSame[other(m)] = append(ofSame[other(m)], m)
		}
		for _, n := range slices.Sorted(maps.Keys(ofSame)) {
			if over := ofSame[n]; slope(over, of, of) != "–" {
				growth = append(growth, slopes{[]string{"slope over " + size + " with " + grouped(n) + " " + same, "", "", ""}, over, of})
			}
		}
	}
	nodes, pods := func(m measurement) float64 { return float64(m.Nodes) }, func(m measurement) float64 { return float64(m.Pods) }
	add("nodes", "pods", nodes, pods)
	add("pods", "nodes", pods, nodes)
	return table([]string{"nodes", "pods", "verdict", "gaps"}, all, func(m measurement) []string {
		return []string{grouped(m.Nodes), grouped(m.Pods), cmp.Or(m.Outcome, "none"), strconv.Itoa(m.Gaps)}
	}, clusterFigures, growth...)
}

var clusterFigures = []figure{
	{"memory of the run, MiB", func(m measurement) float64 { return float64(m.RunBytes) / mib }},
	{"processor time of the run, s", func(m measurement) float64 { return m.RunCPU }},
	{"events", func(m measurement) float64 { return float64(m.Events) }},
	{"record, MiB", func(m measurement) float64 { return float64(m.RecordBytes) / mib }},
	{"processor time to judge, s", func(m measurement) float64 { return m.JudgeCPU }},
	{"memory to judge, MiB", func(m measurement) float64 { return float64(m.JudgeBytes) / mib }},
	{"scheduling attempt, ms", func(m measurement) float64 { return 1000 * m.AttemptSeconds }},
	{"queue to bound, s", func(m measurement) float64 { return m.BindSeconds }},
	{"kube-apiserver, MiB", func(m measurement) float64 { return float64(m.Resident["kube-apiserver"]) / mib }},
	{"etcd, MiB", func(m measurement) float64 { return float64(m.Resident["etcd"]) / mib }},
	{"kwok, MiB", func(m measurement) float64 { return float64(m.Resident["kwok"]) / mib }},
}

var counts = flag.String("counts", "100000 1000000", "numbers of requests, each at least 12000, which the record plans: with fewer, nothing is held")

// BenchmarkRequests measures what judging and reporting a record costs, for each number of requests.
func BenchmarkRequests(b *testing.B) {
	for _, count := range strings.Fields(*counts) {
		b.Run(count, func(b *testing.B) {
			dir := b.TempDir()
			record := filepath.Join(dir, "chaos/drain-one-worker")
			write := exec.CommandContext(b.Context(), os.Args[0])
			write.Env = append(os.Environ(), writeRecord+"="+count+" "+record)
			if said, err := write.CombinedOutput(); err != nil {
				b.Fatalf("write a record: %s", said)
			}
			judged := run(b, "judge", dir)
			reported := run(b, "report", dir) // Unknown: the run has no run.json with verdicts
			_, _ = fmt.Print(requestTable(keep(requestsFile, measurement{
				At: time.Now().UTC(), Requests: must(strconv.Atoi(count)), Outcome: judged.outcome, JudgeCPU: judged.cpu, JudgeBytes: judged.memory,
				ReportCPU: reported.cpu, ReportBytes: reported.memory, RecordBytes: sizeOf(record), PageBytes: must(os.Stat(filepath.Join(dir, "report.html"))).Size(),
			})))
		})
	}
}

// writeRecord is the variable that makes this process write a record: "COUNT FOLDER". In a process of its own, as the benchmark's memory, which
// Linux counts as that of the harness, has to stay small.
const writeRecord = "HOLDFAST_SCALING_RECORD"

// TestMain writes a record whose requests all succeed, with the promises that look at each of them. At 1,000 a second a hundred million of them
// are the load of 28 hours.
func TestMain(m *testing.M) {
	count, dir, is := strings.Cut(os.Getenv(writeRecord), " ")
	if !is {
		os.Exit(m.Run())
	}
	record := historytest.Many{Requests: must(strconv.Atoi(count)), RatePerSecond: 1000}
	for _, i := range []invariant.Invariant{
		invariant.NoFailedRequests{}, invariant.FewFailedRequests{}, invariant.AnswersWithin{}, invariant.FailuresEndWithin{},
	} {
		record.Promises = append(record.Promises, must(invariant.Encode(i)))
	}
	must(0, record.Write(dir))
}

// requestTable has a row for each measurement, the fewest requests first, and the slope of each figure over them.
func requestTable(all []measurement) string {
	slices.SortStableFunc(all, func(a, b measurement) int { return cmp.Compare(a.Requests, b.Requests) })
	growth := slopes{[]string{"slope over requests", ""}, all, func(r measurement) float64 { return float64(r.Requests) }}
	return table([]string{"requests", "verdict"}, all, func(r measurement) []string {
		return []string{grouped(r.Requests), cmp.Or(r.Outcome, "none")}
	}, []figure{
		{"processor time to judge, s", func(r measurement) float64 { return r.JudgeCPU }},
		{"memory to judge, MiB", func(r measurement) float64 { return float64(r.JudgeBytes) / mib }},
		{"processor time to report, s", func(r measurement) float64 { return r.ReportCPU }},
		{"memory to report, MiB", func(r measurement) float64 { return float64(r.ReportBytes) / mib }},
		{"record, MiB", func(r measurement) float64 { return float64(r.RecordBytes) / mib }},
		{"report.html, MiB", func(r measurement) float64 { return float64(r.PageBytes) / mib }},
	}, growth)
}

// figure is a number of a measurement whose growth is of interest. One that is not positive was not measured.
type figure struct {
	title string
	of    func(measurement) float64
}

// slopes are a row of a table: how figures grow with a size over some measurements, after cells of its own.
type slopes struct {
	own  []string
	over []measurement
	size func(measurement) float64
}

// table is a table in Markdown. Each row has cells of its own and then the figures of a measurement; the last rows have slopes.
func table(heads []string, all []measurement, own func(measurement) []string, figures []figure, growth ...slopes) string {
	var text strings.Builder
	row := func(own []string, cell func(figure) string) {
		for _, f := range figures {
			own = append(own, cell(f))
		}
		text.WriteString("| " + strings.Join(own, " | ") + " |\n")
	}
	row(heads, func(f figure) string { return f.title })
	text.WriteString(strings.Repeat("| ---: ", len(heads)+len(figures)) + "|\n")
	for _, m := range all {
		row(own(m), func(f figure) string { return number(f.of(m)) })
	}
	for _, s := range growth {
		row(s.own, func(f figure) string { return slope(s.over, s.size, f.of) })
	}
	return text.String()
}

// slope is the exponent with which a figure grows: 1 if it doubles when the size does, 2 if it becomes four times as much. It is the slope of
// a straight line that is fitted to the logarithms of both. It is a dash if there are not two different sizes with a positive value.
func slope(all []measurement, size, value func(measurement) float64) string {
	var n, sumX, sumY, sumXX, sumXY float64
	for _, m := range all {
		if x, y := math.Log(size(m)), math.Log(value(m)); !math.IsNaN(y) && !math.IsInf(y, 0) {
			n, sumX, sumY, sumXX, sumXY = n+1, sumX+x, sumY+y, sumXX+x*x, sumXY+x*y
		}
	}
	if spread := n*sumXX - sumX*sumX; n > 1 && spread > 1e-9 {
		return fmt.Sprintf("%.2f", math.Round(100*(n*sumXY-sumX*sumY)/spread)/100+0) // without the minus of zero
	}
	return "–"
}

// number writes three significant digits, and whole numbers from 100 on. What was not measured is a dash.
func number(n float64) string {
	switch {
	case n <= 0:
		return "–"
	case n >= 100:
		return grouped(n)
	}
	return fmt.Sprintf("%.3g", n)
}

// grouped writes a whole number with commas between its thousands.
func grouped[N int | float64](n N) string {
	text := fmt.Sprintf("%.0f", float64(n))
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// Each file of measurements makes the table that is beside it.
func TestTables(t *testing.T) {
	for page, want := range map[string]string{
		"README.md":                    requestTable(measured(requestsFile)),
		"../../suites/scale/README.md": clusterTable(measured(clustersFile)),
	} {
		if text := string(must(os.ReadFile(page))); !strings.Contains(text, want) {
			t.Errorf("%s is without the table\n%s", page, want)
		}
	}
}
