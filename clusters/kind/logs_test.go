package kind

import (
	"os"
	"path/filepath"
	"testing"
)

// The log of the load balancer is collected if there is one, and not requested otherwise.
func TestCollectLogsOfTheBalancer(t *testing.T) {
	for planes, want := range map[int]bool{1: false, 3: true} {
		e := newFakeEngine("podman")
		c := fakeCluster(t, e)
		c.record.Spec.ControlPlanes, c.nodes = planes, nil
		dir := t.TempDir()
		err := c.CollectLogs(t.Context(), dir)
		_, statErr := os.Stat(filepath.Join(dir, "holdfast-x-external-load-balancer", "console.log"))
		if got := statErr == nil; got != want {
			t.Errorf("%d control planes: its log exists: %t (%v)", planes, got, err)
		}
		if asked := len(e.Calls) > 0; asked != want {
			t.Errorf("%d control planes: the engine was asked %q", planes, e.Calls)
		}
	}
}
