package engine

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestContainersConf(t *testing.T) {
	tests := map[string]struct {
		fake   fake
		limits limits
		conmon string
	}{
		"cgroup-v1-no-systemd": {
			conmon: "/cache/conmon",
			fake:   fake{files: map[string]string{"/proc/sys/kernel/pid_max": "32768\n"}, programs: []string{"crun", "runc"}},
			limits: limits{openFiles: 20000, processes: 96365},
		},
		"laptop": {
			fake: fake{files: map[string]string{
				"/proc/sys/kernel/pid_max": "4194304\n", "/run/systemd/system": "", "/sys/fs/cgroup/cgroup.controllers": "cpu",
			}, programs: []string{"crun", "runc"}},
			limits: limits{openFiles: 1 << 30, processes: unix.RLIM_INFINITY},
		},
		"cgroup-v2-without-crun": {
			fake:   fake{files: map[string]string{"/sys/fs/cgroup/cgroup.controllers": "cpu", "/run/systemd/system": ""}},
			limits: limits{openFiles: 1 << 20, processes: 1 << 20},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := test.fake.host()
			h.limits = test.limits
			got, golden := containersConf(h, test.conmon), filepath.Join("testdata", name+".conf")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("containers.conf (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPodmanPrepare(t *testing.T) {
	f := fake{}
	h, dir := f.host(), t.TempDir()
	h.readFile = os.ReadFile
	env, config, err := podmanEngine{}.prepare(h, dir)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "containers.conf")
	want := []string{"CONTAINERS_CONF=" + path, "KIND_EXPERIMENTAL_PROVIDER=podman", "PODMAN_IGNORE_CGROUPSV1_WARNING=1"}
	if diff := cmp.Diff(want, env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	first, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != config {
		t.Errorf("file %q, %v; want the returned configuration", got, err)
	}
	if _, _, err := (podmanEngine{}).prepare(h, dir); err != nil {
		t.Fatal(err)
	}
	if again, err := os.Stat(path); err != nil || !os.SameFile(first, again) {
		t.Errorf("an unchanged file was rewritten (%v), although another run may be reading it", err)
	}
}

func TestPodmanAsk(t *testing.T) {
	f := fake{answers: map[string]answer{"podman info": {text: podmanUp}}}
	got, err := podmanEngine{}.ask(t.Context(), f.host(), "podman", nil)
	want := facts{Version: "4.3.1", Runtime: "runc", Driver: "overlay", StorageDir: "/var/lib/containers/storage", Identity: " "}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	f.answers["podman info"] = answer{text: "no JSON"}
	if _, err := (podmanEngine{}).ask(t.Context(), f.host(), "podman", nil); err == nil {
		t.Error("no error, want one for an answer that is not JSON")
	}
}
