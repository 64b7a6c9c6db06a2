package balancer

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden file")

func TestRender(t *testing.T) {
	p, err := readPlan(written(t, map[string]string{"x-control-plane": "x-control-plane:6443", "x-control-plane2": "x-control-plane2:6443",
		"x-control-plane3": "x-control-plane3:6443"}, false))
	if err != nil {
		t.Fatal(err)
	}
	// The third backend has no address yet. It must not keep HAProxy from serving the others.
	got := render(p, map[string]string{"x-control-plane": "10.89.0.2", "x-control-plane2": "fd00::3"})
	golden := filepath.Join("testdata", "haproxy.cfg")
	if *update {
		write(t, golden, got)
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if program, err := exec.LookPath(haproxy); err == nil {
		if out, err := exec.CommandContext(t.Context(), program, "-c", "-f", golden).CombinedOutput(); err != nil {
			t.Errorf("haproxy rejects it: %v: %s", err, out)
		}
	}
}
