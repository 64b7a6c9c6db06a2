package cli

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
)

// foreverVariable makes the hamlets' provider wait until its context ends.
const foreverVariable = "HOLDFAST_TEST_FOREVER"

// The last line, the exit code and run.json of a run call it interrupted by a signal, and none says that evidence is missing. The run does
// not become the latest run.
func TestARunThatASignalEnds(t *testing.T) {
	for signal, want := range map[syscall.Signal]struct {
		code int
		name string
	}{syscall.SIGINT: {exit.Interrupted, "SIGINT"}, syscall.SIGTERM: {exit.Terminated, "SIGTERM"}} {
		t.Run(want.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), argsVariable+"=run --provider hamlet --seed 5 --artifacts "+dir, foreverVariable+"=1",
				"HOLDFAST_CACHE="+t.TempDir())
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var said strings.Builder
			for lines := bufio.NewScanner(out); lines.Scan(); {
				said.WriteString(lines.Text() + "\n")
				if strings.Contains(lines.Text(), "Starting control-plane") {
					if err := cmd.Process.Signal(signal); err != nil {
						t.Fatal(err)
					}
				}
			}
			var exit *exec.ExitError
			if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			const sum = "\n0 scenarios held, 0 violated, 0 unknown; 1 interrupted, 1 not begun\n"
			if code := cmd.ProcessState.ExitCode(); code != want.code || !strings.Contains(said.String(), sum) {
				t.Errorf("exit code %d, want %d and %q\n%s", code, want.code, sum, said.String())
			}
			file, err := runfolder.ReadFile(filepath.Join(dir, runfolder.LastAttemptName))
			if err != nil {
				t.Fatal(err)
			}
			var left []string
			for _, s := range file.Scenarios {
				left = append(left, s.Name+" "+s.Outcome+s.Error+s.Interrupted+s.NotBegun)
			}
			list := []string{"chaos/one interrupted before it was deployed", "mutants/three not begun: the run was interrupted"}
			if diff := cmp.Diff(list, left); diff != "" || file.Interrupted != want.name || file.Outcome != runfolder.OutcomeInterrupted {
				t.Errorf("interrupted by %q, outcome %q; scenarios (-want +got):\n%s", file.Interrupted, file.Outcome, diff)
			}
			if _, err := os.Lstat(filepath.Join(dir, runfolder.LatestName)); err == nil {
				t.Error("it is said to be the last run that was judged")
			}
		})
	}
}
