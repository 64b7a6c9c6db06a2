//go:build e2e

package apps_test

import (
	"os/exec"
	"regexp"
	"testing"
	"time"
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
	{
		folder: "reported/quota-full", args: []string{"--fix"}, want: map[string]string{"app/rollout": "violated", "app/rollout-fixed": "held"},
		says: `FailedCreate.*exceeded quota`,
	},
	{
		folder: "reported/offers-unready", args: []string{"--fix"}, want: map[string]string{"app/rollout": "violated", "app/rollout-fixed": "held"},
		says: `offers-unready-pods`,
	},
	{
		folder: "reported/shared-dependency", want: map[string]string{"app/delete-pod-web": "held", "app/delete-pod-cache": "violated"},
		says: `withdrawn themselves by their readiness probes`,
	},
	{folder: "reported/late-answers", want: map[string]string{"app/rollout": "violated"}, says: `the slowest answer .*2\.5`},
	{
		folder: "reported/native-sidecar", args: []string{"--fix"}, chance: []string{"app/rollout-fixed"}, left: cut,
		want: map[string]string{"app/rollout": "violated", "app/rollout-fixed": "held"}, says: `cured by no-prestop`,
	},
	{
		folder: "reported/proxy-first", args: []string{"--fix"}, chance: []string{"app/rollout-fixed"}, left: cut,
		want: map[string]string{"app/rollout": "violated", "app/rollout-fixed": "held"}, says: `cured by no-prestop`,
	},
}

// cut is how many requests an HAProxy that is told to end by SIGTERM may cut: some on kept connections of each of six pods.
const cut = 18

// All are tested on one cluster, which takes about half of the time of one for each.
func TestReported(t *testing.T) {
	cluster := kept(t)
	for _, app := range reported {
		t.Run(app.folder, func(t *testing.T) { app.test(t, "--cluster", cluster) })
	}
	t.Run("reported/job-labels", func(t *testing.T) { jobIsNamed(t, cluster) })
}

// jobIsNamed tests an application with a Job whose pod the Service selects, for the first 20 s of each minute. It begins when the next of these
// comes in the rollout: the application is deployed at once, and its rollout lasts from 10 to 33 s after that.
func jobIsNamed(t *testing.T, cluster string) {
	begin := time.Now().Truncate(time.Minute).Add(35 * time.Second)
	if time.Now().After(begin) {
		begin = begin.Add(time.Minute)
	}
	time.Sleep(time.Until(begin)) // the schedule of the CronJob is the clock's
	results, printed, code := tested(t, "reported/job-labels/holdfast.yaml", "--cluster", cluster)
	if code != 1 && code != 3 || len(results) != 1 || !regexp.MustCompile(`refused.* pod backup-|refused, backup-|another owner`).MatchString(printed) {
		t.Errorf("exit code %d, want 1 or 3, and that the Job's pod is named: %s", code, printed)
	}
}

// A fault that shows nothing is refused before a cluster is made.
func TestReportedPartitionIsRefused(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "../../bin/holdfast", "test", "reported/partition/holdfast.yaml", "--artifacts", t.TempDir())
	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 4 || !regexp.MustCompile(`nothing is left to test(.|\n)*partition 2`).Match(out) {
		t.Errorf("exit code %d, want 4 and that nothing is left to test:\n%s", code, out)
	}
}
