package record

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
)

// told runs `holdfast record`, and returns its error.
func told(t *testing.T, args ...string) error {
	t.Helper()
	cmd := Command("v0", func(_ io.Writer, _ string, _ runfolder.File, failed ...error) error {
		for _, err := range failed {
			if err != nil {
				return err
			}
		}
		return nil
	})
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(args)
	return cmd.ExecuteContext(t.Context())
}

// unfinish makes of a recording that has ended one whose recorder was killed.
func unfinish(t *testing.T, dir string, args ...string) {
	t.Helper()
	name := filepath.Join(dir, "record", "shop", history.EventsFile)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
	if err := os.WriteFile(name, []byte(strings.Join(lines[:len(lines)-1], "")), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := runfolder.ReadFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	file.Ended, file.Outcome, file.Args = time.Time{}, "", args
	if err := file.Write(dir); err != nil {
		t.Fatal(err)
	}
}

// A recording goes on by its name alone, with the flags with which it was begun, and ends when it was to end.
func TestResume(t *testing.T) {
	t.Setenv("KUBECONFIG", staging(t))
	t.Chdir(t.TempDir())
	begun := []string{"--before", "1s", "--settled", "1s", "--for", "1s"}
	if err := told(t, begun...); err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(filepath.Join("artifacts", runfolder.LastAttemptName))
	if err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"it has ended, and was judged":       {"--resume", "last-attempt"},
		"goes on as it was begun":            {"--resume", "last-attempt", "-n", "shop"},
		"no run.json in artifacts/yesterday": {"--resume", "yesterday"},
	} {
		if err := told(t, args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
	unfinish(t, dir, "run", "--scope", "full")
	if err := told(t, "--resume", "last-attempt"); err == nil || !strings.Contains(err.Error(), "is no recording") {
		t.Errorf("a run: %v", err)
	}
	file, err := runfolder.ReadFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	file.Args = append([]string{"record"}, begun...)
	if err := file.Write(dir); err != nil {
		t.Fatal(err)
	}
	if err := told(t, "--resume", "last-attempt"); err != nil {
		t.Fatal(err)
	}
	run, err := history.Open(filepath.Join(dir, "record", "shop"))
	if err != nil || run.Incomplete != "" || len(run.Gaps(0, time.Hour)) != 1 {
		t.Errorf("%v, %s, gaps %v", err, run.Incomplete, run.Gaps(0, time.Hour))
	}
	if file, err = runfolder.ReadFile(dir); err != nil || len(file.Resumed) != 1 || file.Ended.IsZero() {
		t.Errorf("%+v, %v", file, err)
	}
}
