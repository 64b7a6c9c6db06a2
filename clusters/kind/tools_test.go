package kind

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// machineWith answers as a node whose programs are those of a folder: the script runs in this machine's own shell.
func machineWith(folder string) *fakeEngine {
	f := newFakeEngine("docker")
	f.Exec = func(_ string, command []string) ([]byte, error) {
		shell, err := exec.LookPath(command[0])
		if err != nil {
			return nil, err
		}
		cmd := exec.Command(shell, command[1:]...)
		cmd.Env = []string{"PATH=" + folder}
		return cmd.Output()
	}
	return f
}

// A node image that lacks programs is named before anything runs in the cluster, with what each is for.
func TestNodeImageLacksPrograms(t *testing.T) {
	folder := t.TempDir()
	for _, tool := range tools {
		if err := os.WriteFile(filepath.Join(folder, tool.name), nil, 0o755); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	if err := checkTools(t.Context(), machineWith(folder), "node", "stock:v1"); err != nil {
		t.Errorf("with every program: %v", err)
	}
	for _, name := range []string{"nft", "flock"} {
		if err := os.Remove(filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	err := checkTools(t.Context(), machineWith(folder), "node", "stock:v1")
	if err == nil || !strings.Contains(err.Error(), "node image stock:v1 lacks programs that holdfast runs on nodes: nft (for partitions), flock (for undoing faults); ") {
		t.Errorf("without nft and flock: %v", err)
	}
}

// An answer that was cut off proves nothing.
func TestAnswerAboutProgramsIsCutOff(t *testing.T) {
	f := newFakeEngine("docker")
	f.Exec = func(string, []string) ([]byte, error) { return []byte(""), nil }
	if err := checkTools(t.Context(), f, "node", "stock:v1"); err == nil {
		t.Error("no error")
	}
	f.Exec = func(string, []string) ([]byte, error) { return nil, fmt.Errorf("exec format error") }
	if err := checkTools(t.Context(), f, "node", "stock:v1"); err == nil {
		t.Error("no error")
	}
}
