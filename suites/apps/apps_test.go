//go:build e2e

// Package apps_test tests applications that nobody here wrote, as their users would: by `holdfast test`.
package apps_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// found is what is found in each application. A change is a finding, or a bug.
var found = []struct {
	folder string
	args   []string
	want   map[string]string // outcomes by scenario
	code   int
}{
	{
		// Debian's nginx stops at SIGTERM at once, while requests still arrive. A rollout hurts three times; whether one pod hurts depends
		// on how soon the proxies notice.
		folder: "nginx", args: []string{"--fix", "--faults", "rollout,node-kill"}, code: 1,
		want: map[string]string{"app/rollout": "violated", "app/rollout-fixed": "held", "app/node-kill": "held"},
	},
	{
		folder: "nginx-careful",
		want: map[string]string{
			"app/rollout": "held", "app/drain": "held", "app/delete-pod": "held", "app/scale": "held", "app/node-kill": "held",
		},
	},
	{folder: "overlay", want: map[string]string{"app/rollout": "held", "app/delete-pod": "held"}},
	{
		folder: "ingress",
		want: map[string]string{
			"app/rollout-web": "held", "app/rollout-traefik": "held", "app/delete-pod-web": "held", "app/delete-pod-traefik": "held",
		},
	},
	{
		folder: "haproxy-grpc",
		want: map[string]string{
			"app/rollout-server": "held", "app/rollout-haproxy": "held", "app/delete-pod-server": "held", "app/delete-pod-haproxy": "held",
		},
	},
	{folder: "postgres", want: map[string]string{"app/delete-pod": "violated"}, code: 1}, // as with redis
	{folder: "redis", want: map[string]string{"app/delete-pod": "violated"}, code: 1},    // nobody else serves meanwhile
}

// What is reported of a server that fails one of 100 requests. Both lanes have 250 requests a second for about six seconds.
var flaky = map[string]string{
	"reset": `of \d+,?\d* requests on fresh@new \((0\.9\d*|1(\.0\d*)?) %\) and .*reused@kept \((0\.9\d*|1(\.0\d*)?) %\).*the first (reset|masked)`,
	"close": `the first (closed-early|masked)`,
	"slow":  `the first timeout-response`,
	"wrong": `the first wrong-body`,
}

// A server that fails some of its requests is told apart from others, with its share.
func TestFlakyServersAreToldApart(t *testing.T) {
	for how, want := range flaky {
		t.Run(how, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "../../bin/holdfast", "test", filepath.Join("flaky", how+".yaml"), "--artifacts", t.TempDir())
			out, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != 3 || !regexp.MustCompile("before anything was disturbed, .*("+want+")").Match(out) {
				t.Errorf("exit code %d, want 3 and %q in\n%s", code, want, out)
			}
		})
	}
}

func TestApps(t *testing.T) {
	holdfast, err := filepath.Abs("../../bin/holdfast")
	if err != nil {
		t.Fatal(err)
	}
	for _, app := range found {
		t.Run(app.folder, func(t *testing.T) {
			artifacts := t.TempDir()
			args := append([]string{"test", filepath.Join(app.folder, "holdfast.yaml"), "--artifacts", artifacts}, app.args...)
			cmd := exec.CommandContext(t.Context(), holdfast, args...)
			cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
			_ = cmd.Run() // the exit code follows
			if code := cmd.ProcessState.ExitCode(); code != app.code {
				t.Errorf("exit code %d, want %d", code, app.code)
			}
			file, err := history.ReadRunFile(filepath.Join(artifacts, "latest"))
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, s := range file.Scenarios {
				got[s.Name] = s.Outcome
			}
			if diff := cmp.Diff(app.want, got); diff != "" {
				t.Errorf("outcomes (-want +got):\n%s", diff)
			}
		})
	}
}
