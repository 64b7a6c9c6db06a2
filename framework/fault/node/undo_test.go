package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
)

// shell is a node whose commands run here, in a folder of its own, with programs of systemd's that only write down what they
// were asked.
type shell struct {
	clusters.Node
	t      *testing.T
	folder string
	bin    string
}

func newShell(t *testing.T) *shell {
	s := &shell{t: t, folder: filepath.Join(t.TempDir(), "undo"), bin: t.TempDir()}
	for _, program := range []string{"systemctl", "systemd-run"} {
		s.write(program, fmt.Sprintf("#!/bin/sh\necho %s \"$@\" >>%s/asked\n", program, s.bin))
	}
	// macOS has no flock. Here no two undos run at once.
	if _, err := exec.LookPath("flock"); err != nil {
		s.write("flock", "#!/bin/sh\nshift 4\nexec \"$@\"\n")
	}
	return s
}

func (s *shell) Name() string { return "w1" }

func (s *shell) write(program, text string) {
	s.t.Helper()
	must(s.t, os.WriteFile(filepath.Join(s.bin, program), []byte(text), 0o700))
}

func (s *shell) Exec(ctx context.Context, command ...string) ([]byte, error) {
	for i, word := range command {
		if word == undoFolder {
			command[i] = s.folder
		}
	}
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Env = append(os.Environ(), "PATH="+s.bin+":"+os.Getenv("PATH"))
	out, err := c.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	return out, err
}

// left names what is in the folder, hidden things too.
func (s *shell) left() string {
	entries, _ := os.ReadDir(s.folder)
	var names []string
	for _, e := range entries {
		info, _ := e.Info()
		names = append(names, fmt.Sprintf("%s %o", e.Name(), info.Mode().Perm()))
	}
	return strings.Join(names, ", ")
}

// asked is what systemd was asked since the last time.
func (s *shell) asked() string {
	path := filepath.Join(s.bin, "asked")
	text, _ := os.ReadFile(path)
	_ = os.Remove(path)
	return string(text)
}

// TestAnUndoIsLeftAndRun, once, whatever is in it; and again it does nothing.
func TestAnUndoIsLeftAndRun(t *testing.T) {
	s := newShell(t)
	done := filepath.Join(t.TempDir(), "done")
	script := "set -e\necho \"it's $0\" >>" + done
	must(t, LeaveUndo(t.Context(), s, "partition", script, 1500*time.Millisecond))
	if got := s.left(); got != "partition 755" {
		t.Errorf("left: %s", got)
	}
	if _, err := os.Stat(done); err == nil {
		t.Error("it ran before anybody asked")
	}
	const timer = "systemd-run --quiet --collect --unit=holdfast-undo-partition --on-active=2s --timer-property=AccuracySec=1s /bin/sh -c "
	if got := s.asked(); !strings.HasPrefix(got, timer) || !strings.HasSuffix(got, " undo "+s.folder+" partition\n") {
		t.Errorf("systemd was asked\n%s", got)
	}
	for range 2 {
		must(t, RunUndo(t.Context(), s, "partition"))
	}
	text, _ := os.ReadFile(done)
	if want := "it's " + s.folder + "/partition\n"; string(text) != want || s.left() != "" {
		t.Errorf("it did %q, want %q; left: %s", text, want, s.left())
	}
	if got := s.asked(); got != strings.Repeat("systemctl stop holdfast-undo-partition.timer\n", 2) {
		t.Errorf("systemd was asked\n%s", got)
	}
}

// TestWhatATimerRunsIsTheSame: the command that systemd is given undoes, and leaves nothing.
func TestWhatATimerRunsIsTheSame(t *testing.T) {
	s := newShell(t)
	s.write("systemd-run", `#!/bin/sh
while [ "$1" != /bin/sh ]; do shift; done
exec "$@"`)
	done := filepath.Join(t.TempDir(), "done")
	must(t, LeaveUndo(t.Context(), s, "a", "echo yes >"+done, time.Minute))
	if text, err := os.ReadFile(done); string(text) != "yes\n" || s.left() != "" {
		t.Errorf("it did %q, %v; left: %s", text, err, s.left())
	}
}

// TestWithoutATimer nobody asks systemd for one.
func TestWithoutATimer(t *testing.T) {
	s := newShell(t)
	must(t, LeaveUndo(t.Context(), s, "config", "true", 0))
	if s.asked() != "" || s.left() != "config 755" {
		t.Errorf("left: %s", s.left())
	}
}

// TestAnUndoThatIsThereIsKept: it knows what was before, and the second one does not.
func TestAnUndoThatIsThereIsKept(t *testing.T) {
	s := newShell(t)
	done := filepath.Join(t.TempDir(), "done")
	must(t, LeaveUndo(t.Context(), s, "config", "echo first >"+done, 0))
	err := LeaveUndo(t.Context(), s, "config", "echo second >"+done, 0)
	const want = "leave the undo config on w1: exit status 1: "
	if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "run holdfast heal") {
		t.Errorf("got %v", err)
	}
	must(t, RunUndo(t.Context(), s, "config"))
	if text, _ := os.ReadFile(done); string(text) != "first\n" || s.left() != "" {
		t.Errorf("it did %q; left: %s", text, s.left())
	}
}

// TestAnUndoThatFailsIsKept, with its timer, and its own words are in the error.
func TestAnUndoThatFailsIsKept(t *testing.T) {
	s := newShell(t)
	must(t, LeaveUndo(t.Context(), s, "config", "echo read-only file system >&2; exit 3", 0))
	err := RunUndo(t.Context(), s, "config")
	const want = "run the undo config on w1: exit status 1: read-only file system"
	if err == nil || err.Error() != want || s.left() != "config 755" || s.asked() != "" {
		t.Errorf("got %v; left: %s", err, s.left())
	}
}

// TestNoTimerNoUndo: who asked for a dead-man's switch and got none must not go on, and nothing was done that is to be undone.
func TestNoTimerNoUndo(t *testing.T) {
	s := newShell(t)
	s.write("systemd-run", "#!/bin/sh\necho no bus >&2; exit 1\n")
	err := LeaveUndo(t.Context(), s, "partition", "true", time.Minute)
	if err == nil || !strings.HasSuffix(err.Error(), "no bus") || s.left() != "" {
		t.Errorf("got %v; left: %s", err, s.left())
	}
}

// TestNoScriptNoError, be it that nobody ever left one.
func TestNoScriptNoError(t *testing.T) {
	s := newShell(t)
	must(t, RunUndo(t.Context(), s, "config"))
	must(t, LeaveUndo(t.Context(), s, "config", "true", 0))
	must(t, RunUndo(t.Context(), s, "other"))
	if s.left() != "config 755" {
		t.Errorf("left: %s", s.left())
	}
}

// TestANameIsAName, and neither a path nor a command.
func TestANameIsAName(t *testing.T) {
	s := newShell(t)
	for _, name := range []string{"", "-", "a-", "../a", "a/b", "a b", "a;b", "$(a)", "A", ".a", "a\nb", strings.Repeat("a", 64)} {
		if LeaveUndo(t.Context(), s, name, "true", 0) == nil || RunUndo(t.Context(), s, name) == nil {
			t.Errorf("%q is taken for a name", name)
		}
	}
	if s.left() != "" {
		t.Errorf("left: %s", s.left())
	}
	must(t, LeaveUndo(t.Context(), s, strings.Repeat("a", 63), "true", 0))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
