package engine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The script must delay only the cleanup after an exec, and pass all arguments unchanged.
func TestConmonScript(t *testing.T) {
	dir := t.TempDir()
	conmon, script := filepath.Join(dir, "conmon"), filepath.Join(dir, "script")
	for path, text := range map[string]string{
		conmon: "#!/bin/sh\nprintf '[%s]' \"$@\"\n", script: conmonScript(conmon),
	} {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for args, want := range map[string]string{
		"--api-version|1|-e|--exec-attach|--name|a b": "[--exit-delay][2][--api-version][1][-e][--exec-attach][--name][a b]",
		"--api-version|1|--name|a b":                  "[--api-version][1][--name][a b]",
		"--version":                                   "[--version]",
	} {
		got, err := exec.CommandContext(t.Context(), script, strings.Split(args, "|")...).Output()
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", args, got, err, want)
		}
	}
}
