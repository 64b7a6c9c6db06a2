package engine

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// conmonPlaces are the paths besides PATH where podman itself looks for conmon.
var conmonPlaces = []string{"/usr/libexec/podman/conmon", "/usr/local/libexec/podman/conmon", "/usr/lib/podman/conmon"}

// findConmon is the path of conmon, podman's container monitor. It is empty if conmon is not found.
func findConmon(h host) string {
	if path, err := h.lookPath("conmon"); err == nil {
		return path
	}
	for _, path := range conmonPlaces {
		if h.exists(path) {
			return path
		}
	}
	return ""
}

// conmonScript is a wrapper that delays conmon's cleanup after a `podman exec`. Podman starts that cleanup when the command
// ends, and reads the command's exit status from a file that the cleanup removes. If the cleanup is faster, podman waits 5 s
// for the file. On a busy machine that happens for one command in fifty. kind runs dozens of commands to create a cluster, and
// each of its steps waits for the slowest command.
// Source: libpod/container_exec.go of podman 4.3, readExecExitCode.
func conmonScript(conmon string) string {
	return fmt.Sprintf(`#!/bin/sh
# Written by holdfast; see conmon_path in containers.conf. Delays the cleanup after a podman exec: if the cleanup removes
# the file with the exit status before podman reads it, podman waits 5 s for the file.
case " $* " in
*" --exec-attach "*) exec %[1]s --exit-delay 2 "$@" ;;
esac
exec %[1]s "$@"
`, conmon)
}

// wrapConmon writes the script to the cache folder and returns its path. The path is empty if conmon is not found.
func wrapConmon(h host, cacheDir string) (string, error) {
	conmon := findConmon(h)
	if conmon == "" {
		return "", nil
	}
	path, err := filepath.Abs(filepath.Join(cacheDir, "conmon"))
	if err != nil {
		return "", fmt.Errorf("find the cache folder: %w", err)
	}
	script := []byte(conmonScript(conmon))
	if was, err := h.readFile(path); err == nil && bytes.Equal(was, script) {
		return path, nil
	}
	if err := writeFile(path, script); err != nil {
		return "", err
	}
	if err := os.Chmod(path, 0o755); err != nil {
		return "", fmt.Errorf("write %s: %w", path, err)
	}
	return path, nil
}
