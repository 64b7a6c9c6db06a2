package engine

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mac is a Mac. Its engines answer in the documented form of `docker info` and `podman info`. The values were written by hand: no Mac was at hand.
func mac(t *testing.T, answers map[string]answer, programs ...string) (host, *fake) {
	t.Helper()
	f := &fake{programs: programs, answers: answers, uid: 501}
	h := f.host()
	h.system, h.kernel = "darwin", "24.5.0"
	return h, f
}

func stored(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Containers run in a Linux machine beside macOS. Nothing of the Mac is configured for them.
func TestOnAMac(t *testing.T) {
	desktop, machine := stored(t, "docker-desktop.json"), stored(t, "podman-machine.json")
	for name, test := range map[string]struct {
		programs []string
		answers  map[string]answer
		want     string // the engine with its machine, or what the error contains
		env      []string
	}{
		"Docker Desktop": {
			programs: []string{"docker"}, answers: works("docker", desktop),
			want: "docker 28.3.2 on 8 arm64 CPUs, kernel 6.10.14-linuxkit", env: []string{"KIND_EXPERIMENTAL_PROVIDER=docker"},
		},
		"podman's machine, rootless": {
			programs: []string{"podman"}, answers: works("podman", strings.Replace(machine, `"rootless": false`, `"rootless": true`, 1)),
			want: "its machine is rootless, and nodes need root there\ntry one of these:\n  podman machine stop; podman machine set --rootful; podman machine start",
		},
		"Docker Desktop, stopped": {
			programs: []string{"docker"}, answers: map[string]answer{"docker info": {text: dockerDown, err: exits(t, 1, "Cannot connect")}},
			want: "\n  start Docker Desktop, or 'colima start'\n",
		},
		"nothing": {want: "install and start Docker Desktop, Colima, or podman with a machine that is rootful"},
	} {
		t.Run(name, func(t *testing.T) {
			h, f := mac(t, test.answers, test.programs...)
			found, err := find(t.Context(), h, Options{CacheDir: t.TempDir()})
			got := fmt.Sprint(err)
			if err == nil {
				cpus, arch, kernel := found.Machine()
				got = fmt.Sprintf("%s %s on %d %s CPUs, kernel %s", found.Name(), found.Version(), cpus, arch, kernel)
				if !found.Elsewhere() {
					t.Error("its containers are said to run on macOS")
				}
				if diff := cmp.Diff(test.env, found.Environ()); diff != "" {
					t.Errorf("environment (-want +got):\n%s", diff)
				}
			}
			if !strings.Contains(got, test.want) {
				t.Errorf("got %s, want %s", got, test.want)
			}
			for _, tool := range []string{"apt-get", "systemctl", "sudo"} {
				if f.count(tool) > 0 || strings.Contains(got, tool) {
					t.Errorf("%s on a Mac: %s", tool, got)
				}
			}
		})
	}
}

// A remote daemon on Linux has another kernel; one on this machine has this one.
func TestElsewhere(t *testing.T) {
	h := host{system: "linux", kernel: "6.8.0-45-generic"}
	for theirs, want := range map[string]bool{"6.8.0-45-generic": false, "6.10.14-linuxkit": true, "": false} {
		if got := h.isElsewhere(facts{Kernel: theirs}); got != want {
			t.Errorf("kernel %q: elsewhere %t, want %t", theirs, got, want)
		}
	}
}
