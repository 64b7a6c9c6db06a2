package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
)

// loaded is a record with requests.
func loaded(name string) *historytest.Builder {
	return historytest.Healthy().Header(func(h *history.Header) { h.Scenario = name }).
		Fail(history.LaneFresh, historytest.SeenAt, historytest.SeenAt+10*historytest.Latency, history.Masked)
}

func TestExport(t *testing.T) {
	dir := t.TempDir()
	unloaded := still(t, "conformance/c").Header(func(h *history.Header) { h.Plan = nil })
	store(t, filepath.Join(dir, "two"), loaded("chaos/a"), loaded("chaos/b"), unloaded)
	store(t, filepath.Join(dir, "one"), loaded("chaos/a"), unloaded)
	store(t, filepath.Join(dir, "none"), unloaded)
	store(t, filepath.Join(dir, "killed"), loaded("chaos/a").Incomplete("killed"))
	overwrite(t, filepath.Join(dir, "newer", history.EventsFile), `{"t":0,"header":{"format":99}}`+"\n")
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	for args, test := range map[string]struct {
		code int
		says string // also on standard error
	}{
		"one":                {exit.Held, "chaos/a fresh: 6000 requests, 5996 ok, 4 failed (4 masked); besides 0 unsent, 0 not due under load\nchaos/a reused: 6000"},
		"one/chaos/a":        {exit.Held, "chaos/a fresh: 6000 requests"},
		"two/chaos/b":        {exit.Held, "chaos/b fresh: 6000 requests"},
		"two":                {exit.BadUsage, "has 2 scenarios with load: name one, such as DIR/two/chaos/a"},
		"none":               {exit.Failed, "export DIR/none: it has no requests: no load was planned"},
		"one --vegeta":       {exit.Held, "chaos/a fresh: 6000 requests"},
		"one --lane grpc":    {exit.Failed, `it has no requests of its lanes, or of those that --lane names: ["grpc"]`},
		"one --vegeta=false": {exit.BadUsage, "export writes for vegeta alone"},
		"one --format csv":   {exit.BadUsage, "unknown flag: --format"},
		"killed":             {exit.Held, "chaos/a: the record is incomplete: "},
		"newer":              {exit.Failed, "is of format 99, and this holdfast reads formats up to 2: use a newer one"},
		"empty":              {exit.Failed, "there is no record in it; give a run's folder, such as artifacts/latest"},
		"missing":            {exit.Failed, "DIR/missing"},
	} {
		typed := strings.Fields(args)
		typed[0] = filepath.Join(dir, typed[0])
		out, code, err := execute(t, append([]string{"export"}, typed...)...)
		if err != nil {
			out += err.Error()
		}
		if want := strings.ReplaceAll(test.says, "DIR", dir); code != test.code || !strings.Contains(out, want) {
			t.Errorf("export %s: exit code %d, %v; want %d and %q", args, code, err, test.code, want)
		}
	}
}

// An export file contains only the export. A file that could not be written completely is removed.
func TestExportToAFile(t *testing.T) {
	dir := t.TempDir()
	store(t, dir, loaded("chaos/a"))
	gob := filepath.Join(dir, "results.gob")
	if out, code, err := execute(t, "export", dir, "-o", gob, "--lane", "fresh"); code != exit.Held || strings.Contains(out, "reused") {
		t.Fatal(out, err)
	}
	data, err := os.ReadFile(gob)
	if err != nil {
		t.Fatal(err)
	}
	var m vegeta.Metrics
	decode := vegeta.DecoderFor(bytes.NewReader(data))
	for r := (vegeta.Result{}); decode != nil && decode(&r) == nil; r = (vegeta.Result{}) {
		m.Add(&r)
	}
	if m.Close(); m.Requests != 6000 || m.Success != 5996.0/6000 {
		t.Errorf("vegeta reads %d requests, of which a share of %v succeeded", m.Requests, m.Success)
	}
	requests, err := filepath.Glob(filepath.Join(dir, "chaos", "a", history.RequestsFolder, "*"))
	if err != nil || len(requests) == 0 {
		t.Fatal(requests, err)
	}
	overwrite(t, requests[0], "cut")
	if _, code, err := execute(t, "export", dir, "-o", gob); code != exit.Failed || !strings.Contains(err.Error(), "has 3 bytes") {
		t.Errorf("exit code %d, %v", code, err)
	}
	if _, err := os.Stat(gob); !os.IsNotExist(err) {
		t.Errorf("half an export was left behind: %v", err)
	}
	if _, code, err := execute(t, "export", dir, "-o", filepath.Join(dir, "no", "folder")); code != exit.Failed || !strings.Contains(err.Error(), "export: open ") {
		t.Errorf("exit code %d, %v", code, err)
	}
}
