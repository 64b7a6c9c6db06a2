//go:build e2e

// Package apps_test tests applications that nobody here wrote, as their users would: by `holdfast test`.
package apps_test

import (
	"os"
	"os/exec"
	"path/filepath"
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
		// Debian's nginx closes its connections at SIGTERM, while requests still arrive.
		folder: "nginx", args: []string{"--fix"}, code: 1,
		want: map[string]string{
			"app/rollout": "violated", "app/rollout-fixed": "held", "app/drain": "violated", "app/drain-fixed": "held",
			"app/delete-pod": "violated", "app/delete-pod-fixed": "held", "app/scale": "violated", "app/scale-fixed": "held", "app/node-kill": "held",
		},
	},
	{
		folder: "nginx-careful",
		want: map[string]string{
			"app/rollout": "held", "app/drain": "held", "app/delete-pod": "held", "app/scale": "held", "app/node-kill": "held",
		},
	},
	{folder: "overlay", want: map[string]string{"app/rollout": "held", "app/delete-pod": "held"}},
	{folder: "redis", want: map[string]string{"app/delete-pod": "violated"}, code: 1}, // nobody else serves meanwhile
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
