package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// A fake of what the kernel makes in a control group's folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		at := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestLimitAndRestore(t *testing.T) {
	third := strconv.Itoa(runtime.NumCPU() * period / 3)
	for what, test := range map[string]struct {
		files     map[string]string
		systemd   bool
		file, was string
	}{
		"version 1":                {map[string]string{"cpu/libpod_parent/cpu.cfs_quota_us": "-1\n"}, false, "cpu/libpod_parent/cpu.cfs_quota_us", "-1"},
		"version 1, Docker":        {map[string]string{"cpu/docker/cpu.cfs_quota_us": "-1\n"}, false, "cpu/docker/cpu.cfs_quota_us", "-1"},
		"version 2":                {map[string]string{"cgroup.controllers": "cpu", "machine.slice/cpu.max": "max 100000\n"}, true, "machine.slice/cpu.max", "max 100000"},
		"left by one that crashed": {map[string]string{"cpu/docker/cpu.cfs_quota_us": "100\n"}, false, "cpu/docker/cpu.cfs_quota_us", "-1"},
	} {
		root := tree(t, test.files)
		restore, err := limit(cgroups(root, test.systemd), 1.0/3)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if got := read(t, filepath.Join(root, test.file)); got != third {
			t.Errorf("%s: limited to %q, want %s", what, got, third)
		}
		if err := restore(); err != nil || read(t, filepath.Join(root, test.file)) != test.was {
			t.Errorf("%s: afterwards %q, %v", what, read(t, filepath.Join(root, test.file)), err)
		}
	}
}

// Where nothing can be limited, that is said, and nothing is left behind.
func TestNothingToLimit(t *testing.T) {
	root := tree(t, map[string]string{"cgroup.controllers": "memory"})
	if _, err := limit(cgroups(root, false), 0.5); !errors.Is(err, errNoGroup) {
		t.Errorf("got %v", err)
	}
	if left, err := os.ReadDir(root); err != nil || len(left) != 1 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestTheCommandsExitCodeIsKept(t *testing.T) {
	signals := make(chan os.Signal, 1)
	for script, want := range map[string]int{"exit 0": 0, "exit 5": 5} {
		if code, err := child(signals, []string{"sh", "-c", script}); code != want || err != nil {
			t.Errorf("%s: code %d, %v", script, code, err)
		}
	}
	if _, err := child(signals, []string{"sh", "-c", "kill -KILL $$"}); err == nil {
		t.Error("a killed command has succeeded")
	}
	signals <- os.Interrupt // of the user: it is passed on, and ends a command that does not handle it
	if _, err := child(signals, []string{"sleep", "60"}); err == nil || !strings.Contains(err.Error(), "interrupt") {
		t.Errorf("after a signal: %v", err)
	}
	for _, args := range [][]string{nil, {"1/3"}, {"0/3", "true"}, {"4/3", "true"}, {"third", "true"}} {
		if _, err := run(args); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}
