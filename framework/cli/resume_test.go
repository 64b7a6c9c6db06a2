package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
)

// storedWith is a folder of runs with one interrupted run that was begun with these arguments.
func storedWith(t *testing.T, args ...string) string {
	t.Helper()
	artifacts := t.TempDir()
	file := runfolder.File{ID: "r1", Started: time.Unix(1, 0), Seed: 4711, Args: args}
	if err := file.Write(filepath.Join(artifacts, "r1")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("r1", filepath.Join(artifacts, runfolder.LastAttemptName)); err != nil {
		t.Fatal(err)
	}
	return artifacts
}

// resumedWith are the flags of a run that is resumed with these arguments.
func resumedWith(t *testing.T, args ...string) (runFlags, error) {
	t.Helper()
	f, err := begunAs(append([]string{"run"}, args...))
	if err != nil {
		t.Fatal(err)
	}
	cmd := runCommand("v1")
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return f.resumed(cmd)
}

func TestAResumedRunHasTheFlagsItWasBegunWith(t *testing.T) {
	artifacts := storedWith(t, "-v", "run", "--proxy-mode", "iptables", "--artifacts", "elsewhere", "chaos/one", "--keep-logs")
	for _, by := range [][]string{
		{"--artifacts", artifacts, "--resume", "r1"}, {"--resume", filepath.Join(artifacts, "r1")},
		{"--artifacts", artifacts, "--resume", runfolder.LastAttemptName},
	} {
		got, err := resumedWith(t, by...)
		if err != nil {
			t.Fatalf("%q: %v", by, err)
		}
		if got.begun == nil || got.begun.ID != "r1" || got.Seed != 4711 || got.ProxyMode != "iptables" || !got.KeepLogs || got.Scope != "short" {
			t.Errorf("%q: %+v", by, got)
		}
		if diff := cmp.Diff([]string{"chaos/one"}, got.Names); diff != "" || filepath.Base(got.Artifacts) != filepath.Base(artifacts) {
			t.Errorf("%q: artifacts %s; names (-want +got):\n%s", by, got.Artifacts, diff)
		}
	}
}

// A round of a repeated run is continued by its folder, and is not repeated.
func TestARoundIsResumed(t *testing.T) {
	artifacts := t.TempDir()
	file := runfolder.File{ID: "r1/round-002", Started: time.Unix(1, 0), Seed: 4711, Args: []string{"run", "--repeat", "3", "--artifacts", artifacts}}
	dir := filepath.Join(artifacts, "r1", "round-002")
	if err := file.Write(dir); err != nil {
		t.Fatal(err)
	}
	got, err := resumedWith(t, "--resume", dir)
	if err != nil || got.Artifacts != artifacts || got.begun == nil || got.repeat != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := runfolder.PointLastAttempt(artifacts, got.begun.ID); err != nil {
		t.Error(err)
	}
	if pointed, err := runfolder.ReadFile(filepath.Join(artifacts, runfolder.LastAttemptName)); err != nil || pointed.ID != file.ID {
		t.Errorf("points at %s, %v", pointed.ID, err)
	}
}

func TestResumeRefusesOtherFlags(t *testing.T) {
	for want, test := range map[string]struct{ begun, now []string }{
		`--resume with ["--seed" "chaos/one"]: a resumed run has the scenarios and settings that it was begun with`: {
			[]string{"run"}, []string{"--seed", "7", "chaos/one"}},
		`resume run r1: it was begun by 'holdfast ["certify"]', and only 'holdfast run' can be resumed`: {[]string{"certify"}, nil},
		`resume run r1: it used cluster "prod", and --cluster says "": name the same one`:               {[]string{"run", "--cluster", "prod"}, nil},
		`resume run r1: it used cluster "", and --cluster says "prod": name the same one`:               {[]string{"run"}, []string{"--cluster", "prod"}},
		`resume run r1: unknown flag: --gone`:                                                           {[]string{"run", "--gone"}, nil},
	} {
		artifacts := storedWith(t, test.begun...)
		if _, err := resumedWith(t, append([]string{"--artifacts", artifacts, "--resume", "r1"}, test.now...)...); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	if _, err := resumedWith(t, "--artifacts", t.TempDir(), "--resume", "r9"); err == nil || !strings.Contains(err.Error(), "no run.json in ") {
		t.Errorf("a run that does not exist: %v", err)
	}
}

// A run whose process was killed is continued by its name, with the flags that began it.
func TestResumeIsAProcess(t *testing.T) {
	dir := t.TempDir()
	if _, log, code := process(t, "run chaos/one mutants/three --provider hamlet --seed 5 --artifacts "+dir); code != exit.Unknown {
		t.Fatalf("exit code %d\n%s", code, log)
	}
	last := filepath.Join(dir, runfolder.LastAttemptName)
	if _, log, code := process(t, "run --resume last-attempt --artifacts "+dir); code != exit.Failed ||
		!strings.Contains(log, ": it is complete: no scenario is left to run") {
		t.Errorf("a complete run: exit code %d\n%s", code, log)
	}
	file, err := runfolder.ReadFile(last)
	if err != nil {
		t.Fatal(err)
	}
	killed := file
	killed.Scenarios, killed.Ended, killed.Outcome = file.Scenarios[:1], time.Time{}, ""
	if err := killed.Write(last); err != nil {
		t.Fatal(err)
	}
	out, log, code := process(t, "run --resume last-attempt --artifacts "+dir)
	if code != exit.Unknown || !strings.Contains(out, "resume run "+file.ID+": 1 of 2 scenarios have their result already\n") {
		t.Errorf("exit code %d\n%s\n%s", code, out, log)
	}
	resumed, err := runfolder.ReadFile(last)
	if err != nil {
		t.Fatal(err)
	}
	if len(resumed.Resumed) != 1 || len(resumed.Scenarios) != 2 || resumed.Outcome != file.Outcome || resumed.Seed != 5 {
		t.Errorf("run.json: %+v", resumed)
	}
	if diff := cmp.Diff(file.Args, resumed.Args); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	folders, err := os.ReadDir(filepath.Join(last, "set-aside-1"))
	if err != nil || len(folders) != 1 {
		t.Errorf("set aside: %v, %v", folders, err)
	}
}
