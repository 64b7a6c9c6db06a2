//go:build e2e

package recording_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/run/plaintest"
)

// These tests record a real cluster that holdfast did not make, as a user who may only read it:
// go test -tags e2e -timeout 20m -run E2ECareful ./framework/run/recording, and the same with E2ECareless.

// stage is a plain cluster with an application, and a user who may only read.
type stage struct {
	*plaintest.Stage
	url string
}

func newStage(t *testing.T, name string, manifests string) *stage {
	t.Helper()
	s := &stage{Stage: plaintest.New(t, name, "")}
	s.url = s.Deploy(manifests)
	s.MayRead()
	return s
}

// record runs holdfast record as eve, around a command of the administrator's. It returns the exit code and all output.
func (s *stage) record(t *testing.T, args []string, script string) (code int, out string) {
	t.Helper()
	cmd := s.Command(append(s.As(append([]string{"record", "-n", "shop"}, args...)...), "--", "sh", "-ec", script)...)
	cmd.Env = append(cmd.Env, "K="+s.Kubectl)
	out, code = s.Finish(cmd)
	s.judgedAgain(t, filepath.Join(cmd.Dir, "artifacts", "latest"), code)
	return code, out
}

// judgedAgain judges the stored record, which must give the same.
func (s *stage) judgedAgain(t *testing.T, run string, want int) {
	t.Helper()
	for _, command := range []string{"judge", "report"} {
		cmd := exec.CommandContext(t.Context(), s.Holdfast, command, run)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != want {
			t.Errorf("%s: %v, want exit code %d\n%s", command, err, want, out)
		}
		if command == "judge" {
			t.Logf("judged again:\n%s", out)
		}
	}
}

const (
	restart = `$K -n shop rollout restart deployment/web; $K -n shop rollout status deployment/web --timeout 120s`
	drain   = `node=$($K -n shop get pods -l app=web -o jsonpath='{.items[0].spec.nodeName}')
$K drain "$node" --ignore-daemonsets --delete-emptydir-data --timeout 120s; $K uncordon "$node"`
)

// A careful application keeps every promise through a rollout and a drain. Nothing that happens shows nothing.
func TestE2ECareful(t *testing.T) {
	s := newStage(t, "careful", plaintest.Careful)
	for _, test := range []struct {
		script string
		args   []string
		code   int
		say    string
	}{
		{restart, []string{"--url", s.url}, 0, "1 rollout"},
		{drain, []string{"--url", s.url}, 0, "1 drain"},
		{"true", []string{"--url", s.url}, 5, "nothing was disturbed"},
	} {
		if code, out := s.record(t, test.args, test.script); code != test.code || !strings.Contains(out, test.say) && test.code != 0 {
			t.Errorf("%s: exit code %d, want %d and %q", test.script, code, test.code, test.say)
		}
	}
	s.resumed(t)
	s.NothingElse()
}

// resumed kills a recorder, and goes on with its recording. What is done in between is not judged to be held; the record says that nothing was watched.
func (s *stage) resumed(t *testing.T) {
	t.Helper()
	cmd := s.Command(s.As("record", "-n", "shop", "--url", s.url, "--for", "90s")...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := poll.Pass(t.Context(), 40*time.Second); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Process.Kill() // SIGKILL
	_ = cmd.Wait()
	script := exec.CommandContext(t.Context(), "sh", "-ec", restart)
	script.Env = append(os.Environ(), "K="+s.Kubectl)
	if out, err := script.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	again := s.Command(s.As("record", "--resume", "last-attempt", "--url", s.url)...) // the record is not used to reach anything
	again.Dir = cmd.Dir
	if _, code := s.Finish(again); code != 5 {
		t.Errorf("resumed after a rollout that no recorder saw: exit code %d", code)
	}
	run, err := history.Open(filepath.Join(cmd.Dir, "artifacts", "latest", "record", "shop"))
	gaps := slices.DeleteFunc(run.Events, func(e history.Event) bool { return e.Gap == nil })
	if err != nil || run.Incomplete != "" || len(gaps) != 1 {
		t.Errorf("resumed: %v, %s, gaps %v", err, run.Incomplete, gaps)
	}
	s.judgedAgain(t, filepath.Join(cmd.Dir, "artifacts", "latest"), 5)
}

// A careless application loses requests at a rollout and at a drain.
func TestE2ECareless(t *testing.T) {
	s := newStage(t, "careless", plaintest.Careless)
	for _, script := range []string{restart, drain} {
		if code, _ := s.record(t, []string{"--url", s.url}, script); code != 1 {
			t.Errorf("%s: exit code %d, want 1", script, code)
		}
	}
	s.NothingElse()
}
