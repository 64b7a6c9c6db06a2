package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
)

// told runs `holdfast record`, and returns its error unless it is that nothing was shown.
func told(t *testing.T, args ...string) error {
	t.Helper()
	cmd := recordCommand("v0")
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	if exit.Code(err) == exit.Unknown { // nothing was disturbed
		return nil
	}
	return err
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
func TestResumeARecording(t *testing.T) {
	t.Setenv("KUBECONFIG", recordedStaging(t))
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
	gaps := slices.DeleteFunc(run.Events, func(e history.Event) bool { return e.Gap == nil })
	if err != nil || run.Incomplete != "" || len(gaps) != 1 {
		t.Errorf("%v, %s, gaps %v", err, run.Incomplete, gaps)
	}
	if file, err = runfolder.ReadFile(dir); err != nil || len(file.Resumed) != 1 || file.Ended.IsZero() {
		t.Errorf("%+v, %v", file, err)
	}
}

// A record from another person leads nowhere: its cluster, its credential plugin and its image are not used, and its requests are sent only if the caller
// names them again.
func TestResumeTakesNothingToReachFromTheRecord(t *testing.T) {
	t.Setenv("KUBECONFIG", recordedStaging(t))
	t.Chdir(t.TempDir())
	begun := []string{"record", "--before", "1s", "--settled", "1s", "--for", "1s"}
	if err := told(t, begun[1:]...); err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(filepath.Join("artifacts", runfolder.LastAttemptName))
	if err != nil {
		t.Fatal(err)
	}
	evil := `{apiVersion: v1, kind: Config, current-context: x, clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}], contexts: [{name: x, context: {cluster: c, user: u}}],
users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, args: ["-c", "touch PWNED"], interactiveMode: Never}}}]}`
	if err := os.WriteFile("evil", []byte(evil), 0o600); err != nil {
		t.Fatal(err)
	}
	unfinish(t, dir, begun...)
	for name, test := range map[string]struct {
		args   []string // of the record, beside those of begun
		change func(*runfolder.File)
		given  []string
		want   string
	}{
		"requests":          {args: []string{"--url", "http://127.0.0.1:1/$(x)"}, want: "repeat --url 'http://127.0.0.1:1/$(x)'"},
		"many requests":     {args: []string{"--url", "http://127.0.0.1:1/", "--rate", "50000"}, given: []string{"--url", "http://127.0.0.1:1/"}, want: "--rate 50000"},
		"other requests":    {args: []string{"--url", "http://127.0.0.1:1/"}, given: []string{"--url", "http://127.0.0.1:2/"}, want: "repeat --url http://127.0.0.1:1/"},
		"probes of a file":  {args: []string{"--probes", "evil"}, want: "repeat --probes evil"},
		"an image":          {args: []string{"--load", "inside", "--url", "http://web.shop/", "--image", "evil"}, want: "repeat --url"},
		"none, and a given": {given: []string{"--url", "http://127.0.0.1:1/"}, want: "it sent no requests"},
		"another folder":    {change: func(f *runfolder.File) { f.Scenarios[0].Name = "../../elsewhere" }, want: "leads out of its folder"},
	} {
		file, err := runfolder.ReadFile(dir)
		if err != nil {
			t.Fatal(err)
		}
		was := file.Scenarios[0].Name
		if file.Args = slices.Concat(begun, test.args); test.change != nil {
			test.change(&file)
		}
		if err := file.Write(dir); err != nil {
			t.Fatal(err)
		}
		if err := told(t, slices.Concat([]string{"--resume", "last-attempt"}, test.given)...); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
		file.Scenarios[0].Name, file.Args = was, slices.Concat(begun, []string{"--kubeconfig", "evil", "--server", "http://127.0.0.1:1", "--load", "inside", "--image", "evil"})
		if err := file.Write(dir); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(dir, "record", "shop", "more.jsonl")
	if err := os.Symlink("/etc/hostname", link); err != nil {
		t.Fatal(err)
	}
	if err := told(t, "--resume", "last-attempt"); err == nil || !strings.Contains(err.Error(), "is no plain file") {
		t.Errorf("a record with a link: %v", err)
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := told(t, "--resume", "last-attempt"); err != nil { // in the caller's own cluster
		t.Error(err)
	}
	if _, err := os.Stat("PWNED"); err == nil {
		t.Error("the credential plugin of the record was run")
	}
}
