//go:build e2e

package image

import (
	"os/exec"
	"strings"
	"testing"
)

// TestPodmanRunsIt loads the archive into a real engine and runs the program, unprivileged and with a read-only root.
func TestPodmanRunsIt(t *testing.T) {
	podman, err := exec.LookPath("podman")
	if err != nil {
		t.Skip("no podman here")
	}
	ref, archive, err := Build(program(t, asItIs), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(podman, "load", "--quiet", "--input", archive).CombinedOutput(); err != nil || !strings.Contains(string(out), ref) {
		t.Fatalf("podman load: %v\n%s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command(podman, "image", "rm", ref).Run() })
	run := exec.Command(podman, "run", "--rm", "--pull=never", "--network=none", "--read-only", "--cap-drop=all", ref)
	if out, err := run.CombinedOutput(); err != nil || string(out) != "hello\n" {
		t.Errorf("podman run: %v\n%s", err, out)
	}
}
