package self

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// On another system than Linux, containers get the Linux executable that lies beside the one that runs, also if that runs through a link, and no
// executable that was built from something else.
func TestBeside(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(own) // this test is a Go program too
	if err != nil {
		t.Fatal(err)
	}
	toolchain, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.ReadFile(toolchain) // built from something else
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		file string // what is beside; empty: nothing
		want string // in the error; empty: none
	}{
		"it is there":      {string(program), ""},
		"nothing is there": {"", "holdfast-linux-arm64, which is beside it in the archive of a release"},
		"another program":  {string(other), "use both files of one release, or run 'make build'"},
		"another file":     {"#!/bin/sh\n", "or set HOLDFAST_EXECUTABLE to an executable for linux/arm64"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir()) // the answer has no links, and macOS has one in each folder for temporary files
			if err != nil {
				t.Fatal(err)
			}
			links := t.TempDir()
			running, link := filepath.Join(dir, "holdfast"), filepath.Join(links, "holdfast")
			if err := os.WriteFile(running, nil, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(running, link); err != nil {
				t.Fatal(err)
			}
			wanted := filepath.Join(dir, Beside("arm64"))
			if test.file != "" {
				if err := os.WriteFile(wanted, []byte(test.file), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			path, err := beside(link, "arm64")
			switch {
			case test.want == "" && (err != nil || path != wanted):
				t.Errorf("%s, %v; want %s", path, err, wanted)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("%s, %v; want %q", path, err, test.want)
			}
		})
	}
}
