package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/fault/leasetest"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// The suggested command creates a cluster that fits.
func TestTheCommandThatIsNamedMakesWhatFits(t *testing.T) {
	labelled := scenario.Spec{Name: "chaos/one", Cluster: clusters.Spec{Zones: []string{"z"}, PerWorker: map[string][]string{"disk": {"ssd"}}, LeaderElection: true}}
	for _, need := range []clusters.Spec{
		{Zones: []string{"a", "b", "c"}, WorkersPerZone: 2},
		{Zones: []string{"a"}, ControlPlanes: 3, Profile: clusters.Stock, ProxyMode: clusters.IPTables, LeaderElection: true, Egress: true, Kubernetes: "v1.36.3"},
		labelled.Cluster,
		{Zones: []string{"x", "y"}, PerWorker: labelled.Cluster.PerWorker, Profile: clusters.Stock},
	} {
		need = need.WithDefaults()
		command := scenario.UpCommand("demo", labelled, need)
		root := Command("v1.2.3")
		cmd, rest, err := root.Find(strings.Fields(command)[1:])
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err != nil || cmd.Name() != "up" {
			t.Fatalf("%s: %v", command, err)
		}
		base := scenario.Spec{Cluster: scenario.Standing}
		if cmd.Flags().Changed("for") {
			base = labelled
		}
		got := scenario.WithFlags(base, asked(t, cmd), cmd.Flags().Changed)
		if has, needs := got.Unlike(need); has != "" || needs != "" {
			t.Errorf("%s makes one that has %s, and not %s", command, has, needs)
		}
	}
}

// asked is the cluster that the flags of `holdfast up` describe.
func asked(t *testing.T, cmd *cobra.Command) (s clusters.Spec) {
	t.Helper()
	f := cmd.Flags()
	var errs [6]error
	s.Zones, errs[0] = f.GetStringSlice("zones")
	s.WorkersPerZone, errs[1] = f.GetInt("workers-per-zone")
	s.ControlPlanes, errs[2] = f.GetInt("control-planes")
	s.LeaderElection, errs[3] = f.GetBool("leader-election")
	s.Egress, errs[4] = f.GetBool("egress")
	s.Kubernetes, errs[5] = f.GetString("kubernetes")
	s.Profile = clusters.ProfileName(f.Lookup("timings").Value.String())
	s.ProxyMode = clusters.ProxyMode(f.Lookup("proxy-mode").Value.String())
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// Scenarios of a scope that do not fit the cluster are skipped and counted. Named scenarios must fit.
func TestRunOnAClusterOfAnotherKind(t *testing.T) {
	dir := t.TempDir()
	out, log, code := process(t, "run chaos/one --provider hamlet --cluster demo --timings stock --artifacts "+dir)
	const want = "holdfast: cluster demo has lab timings; chaos/one needs stock timings: make such a cluster with 'holdfast up NAME "
	if code != exit.BadUsage || !strings.Contains(log, want) || !strings.Contains(log, "--timings stock'") {
		t.Errorf("exit code %d\n%s\n%s", code, out, log)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("a folder was made for a run that never was: %v, %v", left, err)
	}
}

// A second run on a cluster gets an error that names the first run, and exits with 3. Once, both ran and disturbed each other.
func TestASecondRunOnOneCluster(t *testing.T) {
	server, api := leasetest.New()
	defer api.Close()
	folder := t.TempDir()
	t.Setenv(apiVariable, api.URL)
	t.Setenv(folderVariable, folder)
	first := server.Hold(t, api.URL)
	out, log, code := process(t, "run chaos/one --provider hamlet --cluster demo --artifacts "+filepath.Join(folder, "artifacts"))
	if code != exit.Failed || !strings.Contains(log, "cluster demo is in use since "+first.Local().Format(time.TimeOnly)+" by run 1 (") ||
		!strings.Contains(log, "wait until it ends, or make another cluster") {
		t.Errorf("exit code %d\n%s\n%s", code, out, log)
	}
	if !server.Held("demo") {
		t.Error("the first run has lost its Lease")
	}
}
