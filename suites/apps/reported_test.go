//go:build e2e

package apps_test

import (
	"os/exec"
	"regexp"
	"testing"
)

// reported are applications after public reports, each with what is right of it.
var reported = []application{
	{folder: "reported/canary", want: map[string]string{"app/delete-pod-web": "held", "app/delete-pod-web-canary": "held"}},
	{folder: "reported/quota", want: map[string]string{"app/rollout": "held"}},
	{folder: "reported/restricted", want: map[string]string{"app/rollout": "held"}},
	{folder: "reported/on-delete", want: map[string]string{"app/drain": "held"}, says: `Skipped: rollout of StatefulSet web, because its pods are replaced only when they are deleted`},
	{
		folder: "reported/anti-affinity", args: []string{"--fix"}, want: map[string]string{"app/rollout": "violated", "app/rollout-fixed": "held"},
		says: `FailedScheduling(.|\n)*unmeetable-anti-affinity`,
	},
	{
		folder: "reported/host-port", args: []string{"--fix"}, want: map[string]string{"app/rollout": "violated", "app/rollout-fixed": "held"},
		says: `FailedScheduling(.|\n)*no-room-to-surge`,
	},
	{folder: "reported/quota-full", want: map[string]string{"app/rollout": "violated"}, says: `FailedCreate.*exceeded quota`},
	{
		folder: "reported/offers-unready", args: []string{"--fix"}, want: map[string]string{"app/rollout": "violated", "app/rollout-fixed": "held"},
		says: `offers-unready-pods`,
	},
	{
		folder: "reported/shared-dependency", want: map[string]string{"app/delete-pod-web": "held", "app/delete-pod-cache": "violated"},
		says: `withdrew themselves by their readiness probes`,
	},
	{folder: "reported/job-labels", want: map[string]string{"app/rollout": "violated"}, says: `backup-\d+`},
	{folder: "reported/late-answers", want: map[string]string{"app/rollout": "violated"}, says: `the slowest answer .*2\.5`},
	{
		folder: "reported/native-sidecar", args: []string{"--fix"}, chance: []string{"app/rollout-fixed"},
		want: map[string]string{"app/rollout": "violated", "app/rollout-fixed": "held"}, says: `no-prestop`,
	},
	{
		folder: "reported/proxy-first", args: []string{"--fix"}, chance: []string{"app/rollout-fixed", "app/delete-pod", "app/delete-pod-fixed"},
		want: map[string]string{"app/rollout": "violated", "app/rollout-fixed": "held", "app/delete-pod": "held", "app/delete-pod-fixed": "held"},
		says: `no-prestop`,
	},
}

// A fault that shows nothing is refused before a cluster is made.
func TestReportedPartitionIsRefused(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "../../bin/holdfast", "test", "reported/partition/holdfast.yaml", "--artifacts", t.TempDir())
	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 4 || !regexp.MustCompile(`nothing is left to test(.|\n)*partition 2`).Match(out) {
		t.Errorf("exit code %d, want 4 and that nothing is left to test:\n%s", code, out)
	}
}
