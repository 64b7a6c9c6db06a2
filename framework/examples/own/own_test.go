package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/examples/own/shop"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// TestItIsAModuleOfItsOwn loads a copy of this example in another module, which cannot import anything internal. The same code is compiled here.
func TestItIsAModuleOfItsOwn(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	const ours = "github.com/holdfast-ha/holdfast"
	dir := t.TempDir()
	copyFile := func(from, to string, change func(string) string) {
		t.Helper()
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(dir, to)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, to), []byte(change(string(text))), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	sources, err := filepath.Glob("shop/*.go")
	if err != nil || len(sources) == 0 {
		t.Fatal(err, sources)
	}
	for _, name := range append(sources, "main.go") {
		copyFile(name, name, func(s string) string { return strings.ReplaceAll(s, ours+"/framework/examples/own", "example.com/own") })
	}
	copyFile(filepath.Join(root, "go.sum"), "go.sum", func(s string) string { return s })
	copyFile(filepath.Join(root, "go.mod"), "go.mod", func(s string) string {
		s = regexp.MustCompile(`(?m)^module .*$`).ReplaceAllString(s, "module example.com/own")
		return s + "\nrequire " + ours + " v0.0.0\n\nreplace " + ours + " => " + root + "\n"
	})
	cmd := exec.CommandContext(t.Context(), "go", "list", "-mod=mod", "-deps", "./...")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOPROXY=off", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestNoRestarts(t *testing.T) {
	healthy := historytest.Healthy().Run()
	if v := judge.Check(healthy, shop.NoRestarts{}); v.Outcome != verdict.Held {
		t.Errorf("%s: %s %q", v.Outcome, v.Seen, v.Evidence)
	}
	for i, e := range healthy.Events {
		if e.Pod != nil {
			pod := *e.Pod
			pod.Restarts = 1
			healthy.Events[i].Pod = &pod
			break
		}
	}
	if v := judge.Check(healthy, shop.NoRestarts{}); v.Outcome != verdict.Violated || !strings.HasPrefix(v.Seen, "a container of pod ") {
		t.Errorf("%s: %s", v.Outcome, v.Seen)
	}
}
