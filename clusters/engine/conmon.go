package engine

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// conmonPlaces are where podman itself looks for conmon, beside PATH.
var conmonPlaces = []string{"/usr/libexec/podman/conmon", "/usr/local/libexec/podman/conmon", "/usr/lib/podman/conmon"}

// findConmon is the path of podman's monitor of containers; empty where it is nowhere that we know.
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

// conmonScript stands before conmon and has it wait before it cleans up after a `podman exec`. Podman starts that
// cleanup the moment the command ends, and reads the command's exit status from a file that the cleanup removes: where
// the cleanup wins, which on a busy machine it does for one command in fifty, podman waits 5 s for the file. kind runs
// dozens of commands to make a cluster, and each step waits for the slowest.
// Source: libpod/container_exec.go of podman 4.3, readExecExitCode.
func conmonScript(conmon string) string {
	return fmt.Sprintf(`#!/bin/sh
# Written by holdfast; see conmon_path in containers.conf. Leave podman the time to read an exit status before its file
# is cleaned up: it would wait 5 s for the file.
case " $* " in
*" --exec-attach "*) exec %[1]s --exit-delay 2 "$@" ;;
esac
exec %[1]s "$@"
`, conmon)
}

// wrapConmon writes the script into our cache folder and returns its path; empty where there is no conmon to wrap.
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
