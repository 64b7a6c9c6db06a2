package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/fault/leasetest"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/run"
	"github.com/holdfast-ha/holdfast/framework/run/provider"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/reports/certificate"
)

// argsVariable turns this executable into the holdfast command, with the arguments in the variable: a process can run scenarios only once.
const argsVariable = "HOLDFAST_TEST_ARGS"

// apiVariable is the URL of a leasetest.Server. Without it, the process has its own. folderVariable is the folder in which clusters are files,
// which take a moment to create and to remove. Without it there are no files.
const (
	apiVariable    = "HOLDFAST_TEST_API"
	folderVariable = "HOLDFAST_TEST_FOLDER"
)

func TestMain(m *testing.M) {
	args, asked := os.LookupEnv(argsVariable)
	if !asked {
		os.Exit(m.Run())
	}
	scenario.All, scenario.Incidents, scenario.Profiles = described(), retold(), certifiable()
	scenario.DescribeUpgrade(climb())
	provider.Makers["hamlet"], provider.Makers["nowhere"] = hamlets(nil), hamlets(errors.New("no engine"))
	os.Args = append(os.Args[:1], strings.Fields(args)...)
	if os.Getenv(apiVariable) == "" {
		_, api := leasetest.New()
		_ = os.Setenv(apiVariable, api.URL) // which it takes
	}
	os.Exit(Main(context.Background(), "v1.2.3"))
}

// described are the scenarios of these tests.
func described() []scenario.Spec {
	s := scenario.Spec{
		Name: "chaos/one", Claim: "one holds", Faults: []fault.Fault{fault.Rollout{}},
		Promises: []invariant.Invariant{invariant.Spread{TopologyKey: clusters.LabelZone}},
	}.WithDefaults()
	two, three := s, s
	two.Name, two.Claim, two.Full = "chaos/two", "two holds, and takes its time", true
	three.Name, three.Claim = "mutants/three", "without sense, chaos/one is caught"
	three.Mutant = &history.Mutant{Removed: "sense", CaughtBy: "Spread", Twin: s.Name}
	return []scenario.Spec{s, two, three}
}

// retold are the incidents of these tests.
func retold() []scenario.Incident {
	all := described()
	return []scenario.Incident{{
		Incident:  history.Incident{Name: "it-broke", Story: "It ran.", Symptom: "It ran no more.", Cause: "Nobody knew.", Fix: "Sense."},
		Scenarios: []scenario.Spec{all[2], all[1]},
	}}
}

// certifiable are the profiles of these tests.
func certifiable() []scenario.Profile {
	all := described()
	return []scenario.Profile{
		{Name: "Core", Features: []scenario.Feature{{Name: "rollout", Scenarios: all[:1]}}},
		{Name: "Extended", Features: []scenario.Feature{{Name: "rollout", Scenarios: all[:1]}, {Name: "node kill", Scenarios: all[1:2]}}},
	}
}

// climb upgrades a cluster.
func climb() scenario.Spec {
	s := described()[0]
	s.Name, s.Claim, s.About = "upgrade/in-place", "an upgrade holds", time.Minute
	s.Faults = []fault.Fault{fault.UpgradeControlPlane{}, fault.UpgradeWorkers{}}
	return s
}

// hamlets provides unusable clusters, into which no image can be loaded.
func hamlets(none error) func(context.Context, io.Writer, func(string)) (provider.Provider, error) {
	return func(_ context.Context, out io.Writer, say func(string)) (provider.Provider, error) {
		made := map[string]bool{"demo": true}
		return provider.Provider{
			Provider: founder{out, say, none, made},
			Open: func(_ context.Context, name string) (clusters.Cluster, error) {
				if !made[name] {
					return nil, fmt.Errorf("open cluster %s: %w", name, fs.ErrNotExist)
				}
				return hamlet{out: out, name: name, spec: described()[0].Cluster.WithDefaults()}, none
			},
			Machine: &runfolder.Machine{Cores: 6, Arch: "amd64", Kernel: "6.6.6"},
			Facts:   func(clusters.Cluster) run.ClusterFacts { return run.ClusterFacts{Kubernetes: "v1.37.0"} },
			Release: func(_ context.Context, version string) (certificate.Release, error) {
				if version == "v1.36.9" {
					return certificate.Release{}, errors.New("kubernetes v1.36.9 does not exist")
				}
				return certificate.Release{Kubernetes: version, Image: "node:" + version}, nil
			},
		}, nil
	}
}

// moment is how long it takes to create a file cluster, to load an image into it, and to remove it.
const moment = 100 * time.Millisecond

// calm is a machine without noise.
type calm struct{ clusters.Node }

func (calm) Name() string                                      { return "calm" }
func (calm) Role() clusters.Role                               { return clusters.Worker }
func (calm) State(context.Context) (clusters.NodeState, error) { return clusters.Running, nil }
func (calm) Exec(context.Context, ...string) ([]byte, error)   { return nil, nil }

type founder struct {
	out  io.Writer
	say  func(string)
	none error
	made map[string]bool
}

func (f founder) Create(ctx context.Context, name string, spec clusters.Spec) (clusters.Cluster, error) {
	f.say("Starting control-plane")
	if os.Getenv(foreverVariable) != "" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if dir := os.Getenv(folderVariable); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			return nil, err
		}
		if err := poll.Pass(ctx, moment); err != nil {
			return nil, errors.Join(err, hamlet{out: f.out, name: name}.Delete(context.WithoutCancel(ctx)))
		}
	}
	f.made[name] = true
	return hamlet{out: f.out, name: name, spec: spec}, f.none
}

// hamlet is an unreachable cluster.
type hamlet struct {
	clusters.Cluster
	out  io.Writer
	name string
	spec clusters.Spec
}

func (h hamlet) Name() string { return h.name }
func (h hamlet) Nodes() []clusters.Node {
	return slices.Repeat([]clusters.Node{calm{}}, 8)
}
func (h hamlet) Config() *rest.Config {
	return &rest.Config{Host: os.Getenv(apiVariable) + "/" + h.name}
}
func (h hamlet) Kubeconfig() (string, error) { return "/state/" + h.name, nil }
func (h hamlet) Spec() clusters.Spec {
	if h.spec.Kubernetes == "" {
		h.spec.Kubernetes = "v1.37.0"
	}
	return h.spec
}
func (h hamlet) LoadImage(ctx context.Context, _ clusters.Image) error {
	if os.Getenv(folderVariable) != "" {
		if err := poll.Pass(ctx, moment); err != nil {
			return err
		}
	}
	return errors.New("no room")
}
func (h hamlet) CollectLogs(context.Context, string) error { return nil }
func (h hamlet) Delete(ctx context.Context) error {
	if dir := os.Getenv(folderVariable); dir != "" {
		if err := poll.Pass(ctx, moment); err != nil {
			return err
		}
		if err := os.Remove(filepath.Join(dir, h.name)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(h.out, "deleted a cluster")
	return err
}

// process runs a command line in its own process.
func process(t *testing.T, args string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), argsVariable+"="+args, "HOLDFAST_CACHE="+t.TempDir())
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), log.String(), cmd.ProcessState.ExitCode()
}

// A run, from the command line to the exit code of its process.
func TestRunIsAProcess(t *testing.T) {
	for name, test := range map[string]struct {
		args    string
		code    int
		out     []string
		not     string
		err     string
		results []string // run.json's scenarios
		again   string   // run.json's command
	}{
		"nothing can be certified": {
			args: "run --provider hamlet --seed 5", code: exit.Unknown,
			out: []string{
				"[1/2] chaos/one: one holds (about 45s)\n  provision 0s\n  provision 0s: Starting control-plane\n", "  UNKNOWN in ",
				"[2/2] mutants/three: without sense", "\n0 scenarios held, 0 violated, 1 unknown; 0 of 1 mutants caught, 1 unknown\n", "deleted a cluster",
			},
			err:     "holdfast: unknown: evidence is missing",
			results: []string{"chaos/one unknown", "mutants/three unknown"},
			again:   "holdfast run --seed 5 --provider hamlet",
		},
		"no cluster": {
			args: "run --provider nowhere --seed 5 --scope full --kubernetes v1.36.3 --timings stock --proxy-mode iptables --load-workers 4", code: exit.Failed,
			out: []string{"  FAILED in 0s: provision a cluster: no engine\n", "\n0 scenarios held, 0 violated, 0 unknown, harness failed in 3\n"},
			err: "holdfast: the harness or its environment failed before everything could be judged; see above",
			results: []string{
				"chaos/one provision a cluster: no engine", "chaos/two provision a cluster: no engine",
				"mutants/three provision a cluster: no engine",
			},
			again: "holdfast run --seed 5 --kubernetes v1.36.3 --load-workers 4 --provider nowhere --proxy-mode iptables --scope full --timings stock",
		},
		"some scenarios": {
			args: "run mutants/three chaos/two --provider hamlet --seed 5", code: exit.Unknown,
			results: []string{"chaos/two unknown", "mutants/three unknown"}, // in the order of the descriptions
			again:   "holdfast run mutants/three chaos/two --seed 5 --provider hamlet",
		},
		"a cluster that is made, and kept": {
			args: "run chaos/two --provider hamlet --cluster new --seed 5", code: exit.Unknown, not: "deleted a cluster",
			out:     []string{"cluster new does not exist: it is made, and stays until 'holdfast down new'"},
			results: []string{"chaos/two unknown"}, again: "holdfast run chaos/two --seed 5 --cluster new --provider hamlet",
		},
		"an incident": {
			args: "run --incident it-broke --provider hamlet --seed 5", code: exit.Unknown,
			results: []string{"mutants/three unknown", "chaos/two unknown"}, // in the order of the incident
			out:     []string{"incident it-broke\n  story:   It ran.\n  symptom: It ran no more.\n  cause:   Nobody knew.\n  fix:     Sense.\n"},
			again:   "holdfast run --seed 5 --incident it-broke --provider hamlet",
		},
		"a cluster that is there": {
			args: "run chaos/one --provider hamlet --cluster demo --seed 5", code: exit.Unknown, not: "deleted a cluster",
			results: []string{"chaos/one unknown"}, again: "holdfast run chaos/one --seed 5 --cluster demo --provider hamlet",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			out, log, code := process(t, test.args+" --artifacts "+dir)
			if code != test.code || !strings.Contains(log, test.err) {
				t.Errorf("exit code %d, want %d; standard error\n%s\nwant %q", code, test.code, log, test.err)
			}
			for _, want := range append(test.out, "\nreport: "+dir) {
				if !strings.Contains(out, want) {
					t.Errorf("said\n%s\nwant %q in it", out, want)
				}
			}
			if test.not != "" && strings.Contains(out, test.not) {
				t.Errorf("said\n%s\nwant no %q in it", out, test.not)
			}
			last := filepath.Join(dir, runfolder.LastAttemptName)
			// A run that failed before anything was judged does not become the latest run.
			if _, err := os.Stat(filepath.Join(dir, runfolder.LatestName)); (err == nil) != (test.code == exit.Unknown) {
				t.Errorf("exit code %d, and %s: %v", code, runfolder.LatestName, err)
			}
			if diff := cmp.Diff(reportFiles, written(t, last)); diff != "" {
				t.Errorf("reports (-want +got):\n%s", diff)
			}
			file, err := runfolder.ReadFile(last)
			if err != nil {
				t.Fatal(err)
			}
			var results []string
			for _, s := range file.Scenarios {
				results = append(results, s.Name+" "+s.Outcome+s.Error)
			}
			if diff := cmp.Diff(test.results, results); diff != "" && test.results != nil {
				t.Errorf("scenarios (-want +got):\n%s", diff)
			}
			if file.Reproduce != test.again && test.again != "" {
				t.Errorf("reproduced by %q, want %q", file.Reproduce, test.again)
			}
			if file.Seed != 5 || file.Holdfast != "v1.2.3" || !regexp.MustCompile(`^\d{8}-\d{6}$`).MatchString(file.ID) {
				t.Errorf("run.json: %+v", file)
			}
		})
	}
}

// If no record can be written, no scenario begins.
func TestRunWithoutRoomForItsRecord(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	overwrite(t, file, "")
	out, log, code := process(t, "run --provider hamlet --artifacts "+file)
	if code != exit.Failed || strings.Contains(out, "Starting") || !strings.Contains(log, "holdfast: make a folder for the run: ") {
		t.Errorf("exit code %d\n%s\n%s", code, out, log)
	}
}

// onThese replaces the real scenarios and providers during a test.
func onThese(t *testing.T) {
	t.Helper()
	before, incidents := scenario.All, scenario.Incidents
	scenario.All, scenario.Incidents = described(), retold()
	provider.Makers["hamlet"], provider.Makers["nowhere"] = hamlets(nil), hamlets(errors.New("no engine"))
	t.Cleanup(func() {
		scenario.All, scenario.Incidents = before, incidents
		delete(provider.Makers, "hamlet")
		delete(provider.Makers, "nowhere")
	})
}

func TestRunList(t *testing.T) {
	onThese(t)
	one := "chaos/one                                     one holds\n"
	two := "chaos/two                                     two holds, and takes its time\n"
	three := "mutants/three                                 without sense, chaos/one is caught\n"
	broke := "--incident it-broke                           It ran no more.\n"
	labels := func(names ...string) (lines string) {
		for _, name := range names {
			lines += "--label " + name + "\n"
		}
		return lines
	}
	for args, want := range map[string]string{
		"run --list":                           one + three + broke + labels("chaos", "mutant", "mutants", "rollout", "short"),
		"run --list --scope full":              one + two + three + broke + labels("chaos", "full", "mutant", "mutants", "rollout", "short"),
		"run --list chaos/*":                   one + two,
		"run --list --label mutant":            three + broke + labels("mutant", "mutants", "rollout", "short"),
		"run --list --incident it-broke":       three + two, // in the order of the incident
		"run --list chaos/two":                 two,         // a named scenario is listed in any scope
		"run --list mutants/three chaos/one":   one + three,
		"run --list chaos/one chaos/one":       one,
		"run chaos/one --list --provider none": one, // a list needs no provider
	} {
		if out, code, err := execute(t, strings.Fields(args)...); code != exit.Held || out != want {
			t.Errorf("holdfast %s: exit code %d, %v\n%s\nwant\n%s", args, code, err, out, want)
		}
	}
	for typed, want := range map[string]string{
		"chaos/on": "did you mean chaos/one?", "one": "did you mean chaos/one?", "thre": "did you mean mutants/three?",
		"chaos": "did you mean chaos/one or chaos/two?", "mutants/thre": "did you mean mutants/three?",
	} {
		_, code, err := execute(t, "run", "--list", typed)
		if want = fmt.Sprintf("unknown scenario %q: %s", typed, want); code != exit.BadUsage || err == nil || err.Error() != want {
			t.Errorf("run %s: exit code %d, %v; want 4 and %s", typed, code, err, want)
		}
	}
	for _, args := range []string{"run --list chaos/one chaos/drain-one-worker", "run --list drain/*"} {
		_, code, err := execute(t, strings.Fields(args)...)
		if code != exit.BadUsage || err == nil || !strings.Contains(err.Error(), ": see 'holdfast run --list --scope full'") {
			t.Errorf("holdfast %s: exit code %d, %v; want 4", args, code, err)
		}
	}
}

// The command in a report runs the same scenarios with the same seed, version and timings.
func TestAgainRoundTrip(t *testing.T) {
	onThese(t)
	understood := func(command string) (runFlags, []scenario.Spec) {
		f, err := begunAs(strings.Fields(command)[1:])
		if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		chosen, _, err := f.Scenarios()
		if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		return f, chosen
	}
	for _, command := range []string{
		"holdfast run", "holdfast run --scope full --seed 42 --timings lab", "holdfast run --timings stock --kubernetes v1.36.3 --load-rate 0.5",
		"holdfast run chaos/two", "holdfast run --incident it-broke", "holdfast run --label chaos --time-budget 40m --keep-logs -v --artifacts x",
		"holdfast run chaos/one mutants/three --timings lab --proxy-mode iptables --load-workers 2", "holdfast run --cluster demo chaos/one",
	} {
		asked, wanted := understood(command)
		asked.Seed, asked.TimeBudget, asked.KeepLogs, asked.Artifacts = 1<<53-1, 0, false, "artifacts"
		again, chosen := understood(asked.again(asked.Seed)("", asked.Kubernetes))
		if diff := cmp.Diff(asked.Options, again.Options) + cmp.Diff(names(wanted), names(chosen)); diff != "" {
			t.Errorf("%s (-asked +understood):\n%s", command, diff)
		}
		for _, s := range wanted { // and of each scenario
			again, chosen := understood(asked.again(asked.Seed)(s.Name, "v1.37.1")) // the version that its cluster actually ran
			if again.Seed != asked.Seed || again.Profile != asked.Profile || (again.Kubernetes == "v1.37.1") == (asked.Cluster != "") || !slices.Equal(names(chosen), []string{s.Name}) {
				t.Errorf("%s: %s is repeated as %+v", command, s.Name, again.Options)
			}
		}
	}
}

func names(specs []scenario.Spec) (all []string) {
	for _, s := range specs {
		all = append(all, s.Name)
	}
	return all
}

func TestUp(t *testing.T) {
	onThese(t)
	out, code, err := execute(t, "up", "demo", "--provider", "hamlet", "--zones", "a,b", "--kubernetes", "v1.36.3")
	want := `  Starting control-plane
cluster demo is up: Kubernetes v1.36.3, 8 nodes: 1 control plane, 4 workers, and one more worker that carries the load
  export KUBECONFIG=/state/demo
  no scenario fits it; 3 fit the cluster of 'holdfast up demo', and --for SCENARIO makes the cluster that a scenario needs
  holdfast down demo
`
	if code != exit.Held || out != want {
		t.Errorf("exit code %d, %v\n%s\nwant\n%s", code, err, out, want)
	}
	if _, code, err := execute(t, "up", "demo", "--provider", "nowhere"); code != exit.Failed || err.Error() != "no engine" {
		t.Errorf("no engine: exit code %d, %v; want 3", code, err)
	}
}
