package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/framework/base/errtest"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/run/progress"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// Ginkgo runs specs once in a process. So each test of Run has a process of its own: this executable, told by these
// variables which plot to play, and where.
const (
	plotVariable   = "HOLDFAST_TEST_PLOT"
	dirVariable    = "HOLDFAST_TEST_DIR"
	resumeVariable = "HOLDFAST_TEST_RESUME" // set: the run in the folder is resumed
)

// told is what a plot tells its parent, beside run.json.
type told struct {
	Did []string // see fixture
	Err string   // what Run, or Repeat, returned
	// Of rounds only: how many came to their end, and what was heard after each.
	Whole int
	After []string
}

// plots are scenarios to run, on a fixture that each may prepare.
var plots = map[string]func(*fixture) []scenario.Spec{
	"three clusters, three outcomes": threeClusters,
	"two rounds":                     threeClusters,
	"interrupted once":               interruptedOnce,
	"interrupted": func(c *fixture) []scenario.Spec {
		first, second, third := brisk(c, "chaos/first"), brisk(c, "chaos/second"), brisk(c, "chaos/third")
		second.Faults = append(second.Faults, ctrlC{})
		return []scenario.Spec{first, second, third}
	},
	"interrupted, with an echo": func(c *fixture) []scenario.Spec {
		first, second, third := brisk(c, "chaos/first"), brisk(c, "chaos/second"), brisk(c, "chaos/third")
		second.Faults = append(second.Faults, ctrlC{echo: true})
		return []scenario.Spec{first, second, third}
	},
	"interrupted in the second round": func(c *fixture) []scenario.Spec {
		first, second, third := brisk(c, "chaos/first"), brisk(c, "chaos/second"), brisk(c, "chaos/third")
		second.Faults = append(second.Faults, errand{name: "Ctrl-C", do: func(ctx context.Context) error {
			if theRun.settings.RunID != "r1/round-02" {
				return nil
			}
			return pressCtrlC(ctx)
		}})
		return []scenario.Spec{first, second, third}
	},
	"a cluster that stays": func(c *fixture) []scenario.Spec {
		c.settings.Close = func(_ context.Context, k clusters.Cluster) error { return errors.New("no engine") }
		return []scenario.Spec{brisk(c, "chaos/first")}
	},
}

// repeated are plots that are played in so many rounds.
var repeated = map[string]int{"two rounds": 2, "interrupted in the second round": 3}

func threeClusters(c *fixture) []scenario.Spec {
	lab, stock, again := brisk(c, "chaos/lab"), brisk(c, "chaos/stock"), brisk(c, "chaos/again")
	stock.Cluster.Profile = clusters.Stock
	stock.Faults = []fault.Fault{staged{name: "A", err: errors.New("boom")}}
	again.Cluster.Profile, again.Cluster.ControlPlanes = clusters.Lab, 1 // the defaults, written out
	again.Backend.Spread, again.Promises = nil, []invariant.Invariant{invariant.Spread{TopologyKey: "kubernetes.io/hostname"}}
	again.Backend.Replicas = 7 // over six nodes
	mutant := brisk(c, "mutants/uneven")
	mutant.Backend, mutant.Promises = again.Backend, again.Promises
	mutant.Mutant = &history.Mutant{CaughtBy: "Spread", Removed: "evenness", Twin: "chaos/lab"}
	return []scenario.Spec{lab, stock, again, mutant}
}

// brisk is quiet in little time: it lasts until the watches have seen the workload settled.
func brisk(c *fixture, name string) scenario.Spec {
	s := quiet()
	s.Name, s.Steady, s.Recovered, s.Hold = name, time.Millisecond, time.Millisecond, time.Millisecond
	s.Faults = []fault.Fault{errand{name: "A", do: func(ctx context.Context) error {
		return poll.Until(ctx, "the watches to see it settled", time.Minute, func(context.Context) (bool, string, error) {
			r, err := history.Open(filepath.Join(theRun.settings.Dir, filepath.FromSlash(name)))
			ready, settled := 0, history.Workload{}
			for _, e := range r.Events {
				switch {
				case e.Pod != nil && e.Pod.Ready:
					ready++
				case e.Workload != nil:
					settled = *e.Workload
				}
			}
			return settled.Settled() && ready == settled.Replicas, fmt.Sprint(ready, settled), err
		})
	}}}
	return s
}

// ctrlC is Ctrl-C, and returns when it was heard.
type ctrlC struct{ echo bool } // an echo comes while it is undone, which takes a moment longer

func (ctrlC) String() string { return "Ctrl-C" }

func (f ctrlC) Plan(context.Context, fault.Target) (fault.Disruption, error) {
	return &fault.Effect{
		Do:  pressCtrlC,
		See: func(context.Context) (bool, fault.Observation, error) { return false, fault.Observation{}, nil },
		Undo: func(ctx context.Context) error {
			if !f.echo {
				return nil
			}
			return errors.Join(syscall.Kill(os.Getpid(), syscall.SIGINT), poll.Pass(ctx, time.Second))
		},
		Restore: func(ctx context.Context) (string, error) { return "undone after Ctrl-C", ctx.Err() },
	}, nil
}

// pressCtrlC sends an interrupt to this process, and returns when it was heard.
func pressCtrlC(ctx context.Context) error {
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

// TestPlot plays a plot in a process of its own.
func TestPlot(t *testing.T) {
	plot, here := plots[os.Getenv(plotVariable)]
	if !here {
		t.Skip("this is for the processes that other tests start")
	}
	c := newFixture(t)
	c.settings.Dir, c.settings.Progress = filepath.Join(os.Getenv(dirVariable), "r1"), progress.New(os.Stdout, 0)
	specs := plot(c)
	c.onCreate = func(*clustertest.Cluster) {}
	c.settings.Judged = func() {
		if err := runfolder.PointLatest(os.Getenv(dirVariable), "r1"); err != nil {
			t.Error(err)
		}
	}
	var report told
	if n := repeated[os.Getenv(plotVariable)]; n > 0 {
		report = playRounds(c, n, specs)
	} else {
		begin := Scenarios
		if os.Getenv(resumeVariable) != "" {
			c.settings.Resumed, begin = time.Now(), Resume
		}
		file, err := begin(t.Context(), *c.settings, specs)
		report = told{Did: c.did, Err: fmt.Sprint(err)}
		if written := c.kept(); written.Outcome != file.Outcome || len(written.Scenarios) != len(file.Scenarios) {
			t.Errorf("Run returned %+v, and run.json is %+v", file, written)
		}
	}
	text, err := json.Marshal(report)
	if err == nil {
		err = os.WriteFile(filepath.Join(os.Getenv(dirVariable), "told.json"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// play plays a plot and returns what it told, its run.json, the folder of all runs, and what a person read.
func playPlot(t *testing.T, plot string) (did told, file runfolder.File, dir, out string) {
	t.Helper()
	dir = t.TempDir()
	did, file, out = playIn(t, dir, plot)
	return did, file, dir, out
}

// playIn is playPlot in a folder, with more variables in the environment of the process.
func playIn(t *testing.T, dir, plot string, variables ...string) (did told, file runfolder.File, out string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPlot$")
	cmd.Env = append(os.Environ(), plotVariable+"="+plot, dirVariable+"="+dir)
	cmd.Env = append(cmd.Env, variables...)
	read, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, read)
	}
	text, err := os.ReadFile(filepath.Join(dir, "told.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &did); err != nil {
		t.Fatal(err)
	}
	if repeated[plot] > 0 {
		return did, file, string(read)
	}
	if file, err = runfolder.ReadFile(filepath.Join(dir, "r1")); err != nil {
		t.Fatal(err)
	}
	return did, file, string(read)
}

// outcomes of a run's scenarios, in order.
func outcomes(f runfolder.File) (words []string) {
	for _, s := range f.Scenarios {
		words = append(words, s.Name+" "+s.Outcome+s.Error+s.Interrupted+s.NotBegun)
	}
	return words
}

// Scenarios for one cluster come one after the other, whatever became of those before, and the last cluster is removed.
func TestRun(t *testing.T) {
	got, file, dir, out := playPlot(t, "three clusters, three outcomes")
	want := []string{"chaos/lab held", "chaos/again violated", "mutants/uneven held", "chaos/stock unknown"}
	if diff := cmp.Diff(want, outcomes(file)); diff != "" || file.Outcome != "violated" || file.Ended.IsZero() {
		t.Errorf("outcome %s, ended %s; scenarios (-want +got):\n%s", file.Outcome, file.Ended, diff)
	}
	if diff := cmp.Diff([]string{"open 0", "close 0", "open 0-2", "close 0-2"}, got.Did); diff != "" || got.Err != "<nil>" {
		t.Errorf("error %s; clusters (-want +got):\n%s", got.Err, diff)
	}
	if latest, err := os.Readlink(filepath.Join(dir, runfolder.LatestName)); err != nil || latest != "r1" {
		t.Errorf("latest leads to %q, %v", latest, err)
	}
	for _, word := range []string{"  HELD in ", "  VIOLATED in ", "  CAUGHT in ", "  UNKNOWN in "} {
		if strings.Count(out, word) != 1 {
			t.Errorf("said:\n%s\nwant %q once", out, word)
		}
	}
	if strings.Contains(out, "Ginkgo") || strings.Contains(out, "[FAIL]") {
		t.Errorf("Ginkgo's own report is in it:\n%s", out)
	}
}

// Ctrl-C undoes the faults of the scenario at hand, keeps what was recorded, begins no other, and removes the cluster.
func TestCtrlC(t *testing.T) {
	ctrlCUndoes(t, "interrupted")
}

// Two signals 20 ms apart, which `timeout` sends, made Ginkgo give up its clean-up: a cluster was left, without a word.
func TestTheEchoOfCtrlC(t *testing.T) { ctrlCUndoes(t, "interrupted, with an echo") }

// ctrlCUndoes plays a plot that is interrupted in its second scenario.
func ctrlCUndoes(t *testing.T, plot string) {
	t.Helper()
	got, file, dir, out := playPlot(t, plot)
	want := []string{"chaos/first held", "chaos/second interrupted in the phase disturbed", "chaos/third not begun: the run was interrupted"}
	if diff := cmp.Diff(want, outcomes(file)); diff != "" || file.Outcome != runfolder.OutcomeInterrupted {
		t.Errorf("outcome %s, interrupted by %q; scenarios (-want +got):\n%s", file.Outcome, file.Interrupted, diff)
	}
	if strings.Contains(out, "UNKNOWN") || strings.Count(out, "  INTERRUPTED in ") != 1 {
		t.Errorf("said\n%s\nwant INTERRUPTED, and nothing of a doubt", out)
	}
	if again := file.Scenarios[2].Reproduce; again != "again chaos/third " {
		t.Errorf("the scenario that was not begun is reproduced by %q", again)
	}
	if diff := cmp.Diff([]string{"open 0", "close 0"}, got.Did); diff != "" || got.Err != "<nil>" {
		t.Errorf("error %s; clusters (-want +got):\n%s", got.Err, diff)
	}
	r, err := history.Open(filepath.Join(dir, "r1", "chaos", "second"))
	if err != nil {
		t.Fatal(err)
	}
	var healed []string
	for _, f := range timeline.Faults(r) {
		if f.Healed.OK {
			healed = append(healed, f.Name)
		}
	}
	if want := []string{"A", "Ctrl-C"}; !slices.Equal(healed, want) || r.Incomplete != "" {
		t.Errorf("undone: %v, want %v; incomplete: %q", healed, want, r.Incomplete)
	}
}

// A cluster that could not be removed takes nothing from the verdicts, and is not passed over in silence.
func TestAClusterThatStaysIsToldOf(t *testing.T) {
	_, file, _, out := playPlot(t, "a cluster that stays")
	if file.Outcome != "held" || !strings.Contains(out, "give back cluster 0: no engine") {
		t.Errorf("outcome %s; said:\n%s", file.Outcome, out)
	}
}

// start is Start, forgotten when the test ends.
func start(t *testing.T, s Settings) error {
	t.Helper()
	t.Cleanup(func() { theRun = nil })
	return Start(s)
}

func TestStart(t *testing.T) {
	c := newFixture(t)
	s := *c.settings
	s.Kubernetes, s.Profile, s.Args = "v1.36.3", clusters.Stock, []string{"run", "--timings", "stock"}
	s.Machine = &runfolder.Machine{Cores: 5, Arch: "arm64"}
	if err := start(t, s); err != nil {
		t.Fatal(err)
	}
	want := runfolder.File{
		Format: runfolder.Format, ID: "r1", Started: s.Started.UTC(), Holdfast: "v1.2.3", Kubernetes: "v1.36.3", Machine: s.Machine,
		Profile: "stock", Seed: 4711, Args: s.Args, Reproduce: "again  v1.36.3",
	}
	got := c.kept()
	got.Started = got.Started.UTC()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("run.json (-want +got):\n%s", diff)
	}
	errtest.Check(t, Start(s), "start run r1: run r1 was started already")
	if _, err := Scenarios(t.Context(), s, nil); err == nil || err.Error() != "start run: no scenarios were chosen" {
		t.Errorf("a run of nothing: %v", err)
	}
}

func TestStartWantsAllOfItsSettings(t *testing.T) {
	for name, spoil := range map[string]func(*Settings){
		"Dir": func(s *Settings) { s.Dir = "" }, "RunID": func(s *Settings) { s.RunID = "" },
		"Open": func(s *Settings) { s.Open = nil }, "Close": func(s *Settings) { s.Close = nil },
		"Describe": func(s *Settings) { s.Describe = nil }, "Executable": func(s *Settings) { s.Executable = "" },
		"Reproduce": func(s *Settings) { s.Reproduce = nil }, "Progress": func(s *Settings) { s.Progress = nil },
	} {
		s := *newFixture(t).settings
		spoil(&s)
		if err := start(t, s); err == nil || err.Error() != "start run: its settings are incomplete" {
			t.Errorf("without %s: %v", name, err)
		}
		theRun = nil
	}
}

// What lies in the way of a record is found before a cluster is made.
func TestStartWhereNothingCanBeWritten(t *testing.T) {
	s := *newFixture(t).settings
	s.Progress = progress.New(io.Discard, 0)
	if err := os.WriteFile(s.Dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	errtest.Check(t, start(t, s), "keep room for the report: ")
}

func TestRegisterGroupsByCluster(t *testing.T) {
	lab, stock := quiet(), quiet()
	stock.Cluster.Profile = clusters.Stock
	explicit := quiet()
	explicit.Cluster.Profile, explicit.Cluster.ControlPlanes = clusters.Lab, 1 // the defaults, written out
	specs := []scenario.Spec{lab, stock, explicit}
	if a, b, c := clusterRank(specs, lab), clusterRank(specs, stock), clusterRank(specs, explicit); a != c || a == b {
		t.Errorf("ranks %d, %d, %d: want the first and the third alike", a, b, c)
	}
}

// A process that has ended a run can run again, as a test that watches its files does. A run that is interrupted keeps what it has.
func TestFurtherRunsOfAProcess(t *testing.T) {
	t.Cleanup(func() { theRun = nil })
	for _, interrupted := range []bool{false, true} {
		theRun = &runner{file: runfolder.File{Ended: time.Now()}}
		c := newFixture(t)
		first, second, third := brisk(c, "chaos/first"), brisk(c, "chaos/second"), brisk(c, "chaos/third")
		ctx, cancel := context.WithCancel(t.Context())
		second.Faults = append(second.Faults, errand{name: "Ctrl-C", do: func(ctx context.Context) error {
			if !interrupted {
				return nil
			}
			cancel()
			<-ctx.Done()
			return context.Cause(ctx)
		}})
		file, err := Scenarios(ctx, *c.settings, []scenario.Spec{first, second, third})
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		var ended []string
		for _, s := range file.Scenarios {
			ended = append(ended, fmt.Sprintf("%s held: %t, interrupted: %t, begun: %t", s.Name, s.Outcome == "held", s.Interrupted != "", s.NotBegun == ""))
		}
		want := []string{
			"chaos/first held: true, interrupted: false, begun: true", "chaos/second held: true, interrupted: false, begun: true",
			"chaos/third held: true, interrupted: false, begun: true",
		}
		if interrupted {
			want[1], want[2] = "chaos/second held: false, interrupted: true, begun: true", "chaos/third held: false, interrupted: false, begun: false"
		}
		if diff := cmp.Diff(want, ended); diff != "" {
			t.Errorf("interrupted %t (-want +got):\n%s", interrupted, diff)
		}
	}
}
