package cli

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// execute runs a command line and returns what it printed and its exit code.
func execute(t *testing.T, args ...string) (out string, code int, err error) {
	t.Helper()
	root := Command("v1.2.3")
	var text bytes.Buffer
	root.SetOut(&text)
	root.SetErr(&text)
	root.SetArgs(args)
	err = root.ExecuteContext(t.Context())
	return text.String(), exit.Code(err), err
}

func TestBadUsageIsExitCode4AndSaysWhatToDo(t *testing.T) {
	for _, test := range []struct {
		args string
		want string
	}{
		{"run --scop short", "unknown flag: --scop"},
		{"run --scope long", `scope "long": want short or full`},
		{"run --kubernetes v9.9.9", `kubernetes version "v9.9.9": want v1.MINOR.PATCH, such as v1.37.0; 'holdfast image versions' lists what there is`},
		{"run chaos/nothing", `unknown scenario "chaos/nothing": see 'holdfast run --list`},
		{"run --timings fast", `profile "fast": want lab or stock`},
		{"run --provider gke", `provider "gke": want one of kind`},
		{"up", "want one argument, and 0 were given: holdfast up NAME"},
		{"up demo --zones=", "zones: none given; name at least one"},
		{"up demo --workers-per-zone -1", "workers per zone -1: must be at least 1"},
		{"run --load-workers -1", "--load-workers -1: want a number from 1 to 1024"},
		{"run --proxy-mode userspace", `kube-proxy mode "userspace": want nftables, iptables or ipvs`},
		{"down", "name one cluster, or give --all"},
		{"down demo --all", "name one cluster, or give --all"},
		{"judge", "want one argument, and 0 were given: holdfast judge RUN"},
		{"image", "say what to do: get, build, balancer, save, load, list, remove, clear-cache, versions or self"},
		{"image save", "want one argument, and 0 were given: holdfast image save FILE"},
		{"image save node.tar.zst --kubernetes 1.37", `kubernetes version "1.37": want v1.MINOR.PATCH, such as v1.37.0`},
		{"image save node.tar.zst --kubernetes v1.37.0 --balancer", "the load balancer is the same for every version"},
		{"image load", "want one argument, and 0 were given: holdfast image load FILE"},
		{"image remove", "want one argument, and 0 were given: holdfast image remove IMAGE"},
		{"workload frontend", "want backend, gateway, healer, load or mirror"},
		{"workload backend --colour=red", "flag provided but not defined"},
		{"doctor now", `unknown command "now"`},
		{"doctor --nodes 0", "nodes 0: must be at least 1"},
		{"doctor --nodes many", "--nodes many: want a whole number"},
		{"up demo --zones a,b,a", `zones ["a" "b" "a"]: every zone needs a name of its own`},
		{"up demo --zones a_", `zone "a_": `},
		{"up demo --workers-per-zone 0", "workers per zone 0: must be at least 1"},
		{"up demo --control-planes 0", "control planes 0: must be at least 1"},
		{"run --seed -1", "--seed -1: want a whole number, 0 or more"},
		{"run --incident it-never-was", `unknown incident "it-never-was": want one of `},
		{"run --incident it-never-was chaos/one", "an incident has its own scenarios"},
		{"certify", "want --from and --to, such as --from v1.36.3 --to v1.37.0"},
		{"certify --from v1.36.3", "want --from and --to"},
		{"certify --from v1.36 --to v1.37.0", `kubernetes version "v1.36": want v1.MINOR.PATCH, such as v1.37.0`},
		{"certify --from v1.37.0 --to v1.36.3", "that is a downgrade"},
		{"certify --from v1.35.4 --to v1.37.0", "that skips v1.36, and kubeadm goes up by one minor version at a time"},
		{"certify --from v1.36.3 --to v1.37.0 --profile everything", `profile "everything": there are `},
		{"certify --from v1.36.3 --to v1.37.0 --profile=", "want at least one of "},
		{
			"certify --from v1.36.3 --to v1.37.0 --plant weeds",
			`unknown plant "weeds": want one of late-kube-proxy, no-prestop, webhook-without-replicas`,
		},
		{"run --repeat 0", "--repeat 0: want 1 to 999"},
		{"run --repeat 2 --time-budget 1h", "rounds that leave out scenarios cannot be compared"},
		{"image build --kubernetes v1", `kubernetes version "v1": want v1.MINOR.PATCH, such as v1.37.0`},
		{"workload load --rate=5", `load: unexpected argument "--rate=5"`},
		{"workload gateway --upstreams=a:1 b:2", `gateway: unexpected argument "b:2"`},
		{"frobnicate", `unknown command "frobnicate" for "holdfast": see 'holdfast --help'`},
		{"judg artifacts/latest", `unknown command "judg" for "holdfast": did you mean judge?`},
	} {
		_, code, err := execute(t, strings.Fields(test.args)...)
		if code != exit.BadUsage || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("holdfast %s: exit code %d, %v; want 4 and %q", test.args, code, err, test.want)
		}
	}
}

func TestEveryCommandTeaches(t *testing.T) {
	for words, c := range commands(Command("v1.2.3")) {
		if c.Short == "" || c.Example == "" {
			t.Errorf("%s: its help lacks a description or an example", words)
		}
	}
}

func TestVersion(t *testing.T) {
	out, code, _ := execute(t, "version")
	if code != exit.Held || !strings.HasPrefix(out, "holdfast v1.2.3 go") {
		t.Errorf("exit code %d, %q", code, out)
	}
}

func TestExitCodes(t *testing.T) {
	for want, err := range map[int]error{
		exit.Held: nil, exit.Violated: exit.Judged(verdict.Violated), exit.Unknown: exit.Judged(verdict.Unknown),
		exit.Failed: errors.New("no engine"), exit.BadUsage: fmt.Errorf("wrapped: %w", exit.Usage(errors.New("what?"))),
	} {
		if got := exit.Code(err); got != want {
			t.Errorf("%v: exit code %d, want %d", err, got, want)
		}
	}
	if err := exit.Judged(verdict.Held); err != nil {
		t.Errorf("held: %v", err)
	}
}

func TestARunsExitCode(t *testing.T) {
	result := func(outcome, err string) runfolder.ScenarioResult {
		return runfolder.ScenarioResult{Outcome: outcome, Error: err}
	}
	for name, test := range map[string]struct {
		results []runfolder.ScenarioResult
		want    int
	}{
		"all held":                    {[]runfolder.ScenarioResult{result("held", "")}, exit.Held},
		"one violated":                {[]runfolder.ScenarioResult{result("held", ""), result("violated", "")}, exit.Violated},
		"one unknown":                 {[]runfolder.ScenarioResult{result("held", ""), result("unknown", "")}, exit.Unknown},
		"one could not be run":        {[]runfolder.ScenarioResult{result("held", ""), result("", "no engine")}, exit.Failed},
		"violated and could not run":  {[]runfolder.ScenarioResult{result("violated", ""), result("", "no engine")}, exit.Violated},
		"nothing was run, nothing is": {nil, exit.Unknown},
		"one is not supported":        {[]runfolder.ScenarioResult{result("held", ""), {NotSupported: "no netem"}}, exit.Held},
		"and one violated":            {[]runfolder.ScenarioResult{result("violated", ""), {NotSupported: "no netem"}}, exit.Violated},
		"none is supported":           {[]runfolder.ScenarioResult{{NotSupported: "no netem"}}, exit.Unknown},
	} {
		if got := exit.Code(outcomeOf(runfolder.File{ID: "r1", Seed: 1, Ended: time.Unix(60, 0), Scenarios: test.results})); got != test.want {
			t.Errorf("%s: exit code %d, want %d", name, got, test.want)
		}
	}
}
