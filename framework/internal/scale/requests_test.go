package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/base/errtest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/framework/scaling"
)

// TestMain is the command itself where a measurement has it write a record.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "write" {
		main()
		return
	}
	os.Exit(m.Run())
}

// beside a harness whose answers are a shell script's, in a folder of its own; it returns the folder for temporary files.
func besideHarness(t *testing.T, script string) (temporary string) {
	t.Helper()
	t.Chdir(t.TempDir())
	temporary = t.TempDir()
	t.Setenv("TMPDIR", temporary)
	if err := os.Mkdir("bin", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(harness, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return temporary
}

// wellBehaved runs for long enough that its memory is seen.
const wellBehaved = `sleep .1; case $1 in
judge) test -f "$2/chaos/drain-one-worker/events.jsonl" ;;
report) printf 123456 > "$2/report.html"; exit 5 ;;
*) exit 4 ;;
esac`

func TestRequestsAreMeasured(t *testing.T) {
	temporary := besideHarness(t, wellBehaved)
	var out bytes.Buffer
	errtest.Check(t, requests(t.Context(), []string{"--file", "r.jsonl", "20000", "12000"}, &out), "")
	all, err := readAll[scaling.Requests]("r.jsonl")
	errtest.Check(t, err, "")
	if len(all) != 2 || all[0].Requests != 12_000 || all[1].Requests != 20_000 {
		t.Fatalf("measured %+v, want the smaller one first", all)
	}
	for _, m := range all {
		if m.Outcome != "held" || m.PageBytes != 6 || m.JudgeBytes <= 0 || m.ReportBytes <= 0 || m.RecordBytes < int64(m.Requests) || m.At.IsZero() {
			t.Errorf("%+v", m)
		}
	}
	if out.String() != scaling.RequestTable(all) {
		t.Errorf("printed\n%s", out.String())
	}
	if image, err := os.ReadFile("r.svg"); err != nil || !bytes.HasPrefix(image, []byte("<svg")) {
		t.Errorf("the chart: %v", err)
	}
	isEmpty(t, temporary)
	out.Reset()
	errtest.Check(t, requests(t.Context(), []string{"--file", "r.jsonl"}, &out), "")
	if out.String() != scaling.RequestTable(all) {
		t.Errorf("without counts printed\n%s", out.String())
	}
}

func isEmpty(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestWhatFailsIsNotMeasured: there is an error and no measurement, the record is removed, and what could be measured is in the table.
func TestWhatFailsIsNotMeasured(t *testing.T) {
	for name, test := range map[string]struct {
		script, count, want string
	}{
		"judging crashes":    {strings.Replace(wellBehaved, "judge)", "judge) exit 2 ;; j)", 1), "12000", "measure 12000 requests: bin/holdfast judge: exit status 2"},
		"reporting fails":    {strings.Replace(wellBehaved, "exit 5", "exit 3", 1), "12000", "bin/holdfast report: exit status 3"},
		"there is no page":   {strings.Replace(wellBehaved, "printf", "exit 0; printf", 1), "12000", "report.html: no such file"},
		"it does not fit":    {wellBehaved, "1000000000000000", "GB free, and the record needs 180000000.0 GB: make room, or choose another disk with TMPDIR"},
		"it takes no count":  {wellBehaved, "many", `"many" requests: want an even number from 12000 on`},
		"an odd number":      {wellBehaved, "12001", "want an even number"},
		"too few":            {wellBehaved, "100", "want an even number from 12000 on"},
		"no count, no table": {wellBehaved, "--", "read measurements: open r.jsonl: no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			temporary := besideHarness(t, test.script)
			args := []string{"--file", "r.jsonl", test.count}
			if test.count != "--" {
				errtest.Check(t, appendTo("r.jsonl", scaling.Requests{Requests: 7, JudgeCPU: 1}, &bytes.Buffer{}), "")
			}
			var out bytes.Buffer
			errtest.Check(t, requests(t.Context(), args, &out), test.want)
			if measured := strings.HasPrefix(test.want, "measure"); measured && !strings.Contains(out.String(), "\n| 7 |") {
				t.Errorf("printed %q", out.String())
			}
			if all, _ := readAll[scaling.Requests]("r.jsonl"); len(all) > 1 {
				t.Errorf("kept %+v", all)
			}
			isEmpty(t, temporary)
		})
	}
}

// TestAnInterruptedMeasurementLeavesNothing: the process that is measured ends, and the record is removed.
func TestAnInterruptedMeasurementLeavesNothing(t *testing.T) {
	temporary := besideHarness(t, "echo > begun; exec sleep 600")
	errtest.Check(t, syscall.Mkfifo("begun", 0o600), "")
	why := errors.New("interrupted by a test")
	ctx, interrupt := context.WithCancelCause(t.Context())
	defer interrupt(nil)
	go func() {
		_, _ = os.ReadFile("begun") // which ends when the harness has begun
		interrupt(why)
	}()
	if _, err := measureRequests(ctx, 12_000); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	isEmpty(t, temporary)
}

func TestFits(t *testing.T) {
	errtest.Check(t, fits("d", 100_000_000, 18_000_000_000), "")
	errtest.Check(t, fits("d", 100_000_000, 17_999_999_999), "d has 18.0 GB free, and the record needs 18.0 GB")
	errtest.Check(t, fits("d", 100, 0), "d has 0.0 GB free")
}

// TestAWrittenRecordIsHeld: otherwise, what judging it costs means little.
func TestAWrittenRecordIsHeld(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "record")
	errtest.Check(t, write([]string{"12000", dir}), "")
	verdicts := judge.Judge(open(t, dir))
	if o := judge.Overall(verdicts); o != verdict.Held || len(verdicts) != 4 {
		t.Errorf("%s: %+v", o, verdicts)
	}
	errtest.Check(t, write([]string{"12000", dir}), "write a record of 12000 requests in "+dir)
	errtest.Check(t, write([]string{"12000"}), "want the number of requests, and a new folder")
}

func TestOutcomeOf(t *testing.T) {
	other := errors.New("other")
	for script, want := range map[string]string{"exit 0": "held", "exit 1": "violated", "exit 5": "unknown", "exit 2": "", "exit 3": "", "kill -9 $$": ""} {
		got, err := outcomeOf(exec.CommandContext(t.Context(), "sh", "-c", script).Run())
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", script, got, err)
		}
	}
	if got, err := outcomeOf(other); got != "" || !errors.Is(err, other) {
		t.Errorf("%q, %v", got, err)
	}
}

// TestTheMemoryOfASmallProcess is its own, although Linux gives it the peak of the process that made it.
func TestTheMemoryOfASmallProcess(t *testing.T) {
	u, err := process(t.Context(), exec.CommandContext(t.Context(), "sh", "-c", "i=0; while [ $i -lt 120000 ]; do i=$((i+1)); done"))
	errtest.Check(t, err, "")
	var own syscall.Rusage
	errtest.Check(t, syscall.Getrusage(syscall.RUSAGE_SELF, &own), "")
	if u.memory <= 0 || u.memory >= mostResident(&own) || u.cpu <= 0 || u.wall <= 0 {
		t.Errorf("%+v, of a shell, and this process had %d bytes", u, mostResident(&own))
	}
}

func TestUnknownCommands(t *testing.T) {
	for _, args := range [][]string{nil, {"shrink"}} {
		errtest.Check(t, run(t.Context(), args, &bytes.Buffer{}), "want "+commands)
	}
}

// TestTable: pods have a table and a chart as requests have, and a damaged line is named.
func TestTable(t *testing.T) {
	t.Chdir(t.TempDir())
	errtest.Check(t, appendTo("m.jsonl", scaling.Measurement{Nodes: 1, Pods: 10, JudgeCPU: 2}, &bytes.Buffer{}), "")
	var out bytes.Buffer
	errtest.Check(t, table([]string{"m.jsonl"}, &out), "")
	if diff := cmp.Diff(scaling.ClusterTable([]scaling.Measurement{{Nodes: 1, Pods: 10, JudgeCPU: 2}}), out.String()); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat("m.svg"); err == nil {
		t.Error("one measurement has a chart of its growth")
	}
	errtest.Check(t, appendTo("m.jsonl", scaling.Measurement{Nodes: 1, Pods: 100, JudgeCPU: 3}, &bytes.Buffer{}), "")
	errtest.Check(t, table([]string{"m.jsonl"}, &out), "")
	if image, err := os.ReadFile("m.svg"); err != nil || !strings.Contains(string(image), "processor time to judge at 10 pods with 1 node: 2 s") {
		t.Errorf("the chart: %v", err)
	}
	errtest.Check(t, os.WriteFile("m.jsonl", []byte("{\"pods\":1}\n{\"pods\":\n"), 0o644), "")
	errtest.Check(t, table([]string{"m.jsonl"}, &out), "read line 2 of m.jsonl")
	errtest.Check(t, table([]string{"none.jsonl"}, &out), "no such file")
	errtest.Check(t, table([]string{"a", "b"}, &out), "want one file")
}

// TestTableOfSeveralScenarios: measurements of several scenarios or timings are not in one table, and one of them can be chosen.
func TestTableOfSeveralScenarios(t *testing.T) {
	t.Chdir(t.TempDir())
	drain := scaling.Measurement{Scenario: "scale/drain", Timings: "lab", Nodes: 1, Pods: 10, JudgeCPU: 2}
	larger, rollout, stock := drain, drain, drain
	larger.Pods, rollout.Scenario, stock.Timings = 100, "scale/rollout", "stock"
	for _, m := range []scaling.Measurement{drain, rollout, stock, larger} {
		errtest.Check(t, appendTo("m.jsonl", m, &bytes.Buffer{}), "")
	}
	for _, test := range []struct {
		args []string
		want string // an error, or else the table of these measurements
		of   []scaling.Measurement
	}{
		{nil, "table of m.jsonl: it has measurements of scale/drain with lab timings, scale/rollout with lab timings and scale/drain with stock timings: " +
			"choose one with --scenario and --timings", nil},
		{[]string{"--scenario", "scale/drain"}, "scale/drain with lab timings and scale/drain with stock timings: choose", nil},
		{[]string{"--scenario", "scale/drain", "--timings", "lab"}, "", []scaling.Measurement{drain, larger}},
		{[]string{"--scenario", "scale/rollout"}, "", []scaling.Measurement{rollout}},
		{[]string{"--timings", "stock"}, "", []scaling.Measurement{stock}},
		{[]string{"--scenario", "scale/rolout"}, `table of m.jsonl: it has no measurement with --scenario "scale/rolout" and --timings ""`, nil},
	} {
		var out bytes.Buffer
		errtest.Check(t, table(append(test.args, "m.jsonl"), &out), test.want)
		want := ""
		if test.of != nil {
			want = scaling.ClusterTable(test.of)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.args, diff)
		}
	}
}
