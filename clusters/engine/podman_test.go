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
