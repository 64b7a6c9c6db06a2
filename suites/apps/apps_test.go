//go:build e2e

// Package apps_test tests applications that nobody here wrote, as their users would: by `holdfast test`.
package apps_test

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// application is one that is tested, with what is found in it. A change is a finding, or a bug.
type application struct {
	folder string
	args   []string
	want   map[string]string // outcomes by scenario
	// chance are scenarios that may be violated as well, by a few requests: a server that ends closes its kept connections, and now and
	// then one of them has a request on it, which the client's library sends again.
	chance []string
	left   float64 // how many they are at most, if more than few
	says   string  // what the text must say, a regular expression
}

var found = []application{
	{
		// Debian's nginx stops at SIGTERM at once, while requests still arrive. A rollout hurts three times; whether one pod hurts depends
		// on how soon the proxies notice.
		folder: "nginx", args: []string{"--fix", "--faults", "rollout,node-kill"}, chance: []string{"app/rollout-fixed"},
		want: map[string]string{"app/rollout": "violated", "app/rollout-fixed": "held", "app/node-kill": "held"},
	},
	{
		folder: "nginx-careful", chance: keptConnections,
		want: map[string]string{
			"app/rollout": "held", "app/drain": "held", "app/delete-pod": "held", "app/scale": "held", "app/node-kill": "held",
		},
	},
	{
		folder: "haproxy-grpc",
		want: map[string]string{
			"app/rollout-server": "held", "app/rollout-haproxy": "held", "app/delete-pod-server": "held", "app/delete-pod-haproxy": "held",
			"app/config-change-haproxy": "held", // HAProxy has its configuration as a folder, and does not read it again
		},
	},
	{folder: "platform", chance: keptConnections, want: map[string]string{"app/rollout": "held", "app/delete-pod": "held"}},
	{folder: "postgres", want: map[string]string{"app/delete-pod": "violated"}}, // no other pod serves meanwhile
}

// keptConnections are the scenarios in which nginx end: several in a rollout, one in the others.
var keptConnections = []string{"app/rollout", "app/delete-pod", "app/drain", "app/scale"}

// few is how many requests may be on connections that are closed at that moment: a rollout and its rollback end six pods. 1 of 2,665 was seen on an
// idle machine, and 5 of 4,481 on a busy one.
const few = 6

// byChance reports whether no more than a few requests broke the promises.
func byChance(t *testing.T, r runfolder.ScenarioResult, most float64) bool {
	t.Helper()
	if r.Outcome != "violated" {
		return false
	}
	for _, raw := range r.Verdicts {
		var v verdict.Verdict
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatalf("%s: %v", r.Name, err)
		}
		if v.Outcome == verdict.Violated && (v.Numbers["failed"] < 1 || v.Numbers["failed"] > most) {
			return false
		}
	}
	return true
}

// tested runs `holdfast test`, and returns the results of its scenarios, what it printed, and the exit code.
func tested(t *testing.T, args ...string) (results []runfolder.ScenarioResult, printed string, code int) {
	t.Helper()
	artifacts := t.TempDir()
	args = append([]string{"test", "--artifacts", artifacts}, args...)
	cmd := exec.CommandContext(t.Context(), "../../bin/holdfast", args...)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = io.MultiWriter(os.Stdout, &out), os.Stderr
	_ = cmd.Run() // the exit code follows
	file, err := runfolder.ReadFile(filepath.Join(artifacts, "latest"))
	if err != nil {
		t.Fatal(err)
	}
	return file.Scenarios, out.String(), cmd.ProcessState.ExitCode()
}

// noticed reports whether the table says that the loss of a practice was noticed. One run without it may lose a few requests by chance, as the
// scenario with it may: only the table compares the two.
func noticed(t *testing.T, printed, removed string) bool {
	t.Helper()
	for line := range strings.Lines(printed) {
		if !strings.Contains(line, "│ "+removed+" ") {
			continue
		}
		if was := strings.Contains(line, "requests were lost"); was || strings.Contains(line, "not noticed") {
			return was
		}
	}
	t.Fatalf("the table does not say what happened without %s", removed)
	return false
}

// carries are the practices of nginx-careful that carry availability under a rollout, by what is known of the mutant mutants/no-prestop. nginx starts at
// once, and needs no readiness probe.
var carries = map[string]bool{"prestop-web": true, "readiness-web": false, "spread-web": false, "budget-web": false}

// What an ablation finds agrees with what is known of the mutants. What it finds of a practice is advice, and no failure: the exit code is that of
// the scenarios with all practices.
func TestAblationAgreesWithTheMutants(t *testing.T) {
	results, printed, code := tested(t, "nginx-careful/holdfast.yaml", "--ablate", "--times", "1")
	want := 0
	for _, r := range results {
		if strings.HasPrefix(r.Name, "app/") && r.Outcome != "held" {
			if want = 1; !byChance(t, r, few) {
				t.Errorf("%s: %s", r.Name, r.Outcome)
			}
		}
	}
	if code != want {
		t.Errorf("exit code %d, want %d", code, want)
	}
	for practice, want := range carries {
		at := slices.IndexFunc(results, func(r runfolder.ScenarioResult) bool { return r.Name == "ablate/"+practice+"-1" })
		if at < 0 {
			t.Errorf("without %s: it was not tried", practice)
		} else if got := noticed(t, printed, results[at].Mutant.Removed); got != want {
			t.Errorf("without %s: noticed %v, want %v", practice, got, want)
		}
	}
}

// What an ablation adds is what --fix applies: a preStop sleep cures the rollout of an nginx that has none, but for kept connections. The rollout
// without it is still a broken promise.
func TestAblationTriesWhatTheAuditProposes(t *testing.T) {
	results, _, code := tested(t, filepath.Join("nginx", "holdfast.yaml"), "--ablate", "--times", "1")
	if code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	at := slices.IndexFunc(results, func(r runfolder.ScenarioResult) bool { return r.Name == "add/no-prestop-web-1" })
	if at < 0 || results[at].Outcome != "held" && !byChance(t, results[at], few) {
		t.Errorf("with a preStop sleep: %+v", results)
	}
}

func TestApps(t *testing.T) {
	cluster := kept(t)
	for _, app := range found {
		t.Run(app.folder, func(t *testing.T) { app.test(t, "--cluster", cluster) })
	}
}

// kept is a cluster for several applications, as holdfast makes it for one.
func kept(t *testing.T) (name string) {
	name = strings.ToLower(strings.TrimPrefix(t.Name(), "Test"))
	holdfast := func(args ...string) {
		if out, err := exec.CommandContext(context.WithoutCancel(t.Context()), "../../bin/holdfast", args...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	holdfast("up", name, "--workers-per-zone", "1")
	t.Cleanup(func() { holdfast("down", name) })
	return name
}

// test tests an application, and fails unless what is found in it is.
func (app application) test(t *testing.T, flags ...string) {
	t.Helper()
	results, printed, code := tested(t, slices.Concat(app.args, flags, []string{filepath.Join(app.folder, "holdfast.yaml")})...)
	got, want := map[string]string{}, 0
	for _, r := range results {
		got[r.Name] = r.Outcome
		if r.Outcome == "violated" {
			want = 1
		}
		if slices.Contains(app.chance, r.Name) && byChance(t, r, max(app.left, few)) {
			got[r.Name] = app.want[r.Name]
		}
	}
	if code != want {
		t.Errorf("exit code %d, want %d", code, want)
	}
	if diff := cmp.Diff(app.want, got); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if !regexp.MustCompile(app.says).MatchString(printed) {
		t.Errorf("the text does not say %q", app.says)
	}
}
