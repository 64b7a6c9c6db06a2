package kind

import (
	"os"
	"path/filepath"
	"testing"
)

// What the balancer said is kept where there is one, and nobody asks for it where there is none.
func TestCollectLogsOfTheBalancer(t *testing.T) {
	for planes, want := range map[int]bool{1: false, 3: true} {
		e := newFakeEngine("podman")
		c := fakeCluster(t, e)
		c.record.Spec.ControlPlanes, c.nodes = planes, nil
		dir := t.TempDir()
		err := c.CollectLogs(t.Context(), dir)
		_, statErr := os.Stat(filepath.Join(dir, "holdfast-x-external-load-balancer", "console.log"))
		if got := statErr == nil; got != want {
			t.Errorf("%d control planes: its log is there: %t (%v)", planes, got, err)
		}
		if asked := len(e.calls) > 0; asked != want {
			t.Errorf("%d control planes: the engine was asked %q", planes, e.calls)
		}
	}
}
