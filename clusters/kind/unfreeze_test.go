package kind

import (
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/holdfast-ha/holdfast/clusters"
)

// A killed node with frozen processes does not exit: its init waits for them. Kill unfreezes them, and reports success only
// once the node has exited.
func TestAKilledNodeIsUnfrozen(t *testing.T) {
	id := strings.Repeat("6c", 32)
	for name, test := range map[string]struct{ frozen, want string }{
		"its own": {id, ""},
		"another's": {strings.Repeat("ab", 32),
			"kill holdfast-x-worker: waited 30s for its effect: last seen podman says it is running, not exited " +
				"(N checks, last error: none): context deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newFakeEngine("podman")
				c := fakeCluster(t, e)
				c.freezers = t.TempDir()
				worker := nodeOf(t, c, clusters.Worker)
				e.Containers[worker.name].ID = id
				state := fakeFreezer(t, c.freezers, test.frozen)
				killed := false
				e.Fail = func(args []string) error {
					killed = killed || args[0] == "kill"
					at := e.Containers[worker.name]
					if text, err := os.ReadFile(state); killed && err == nil && args[0] != "kill" {
						at.State = map[bool]string{true: "exited", false: "stopping"}[string(text) == "THAWED" && test.want == ""]
					}
					return nil
				}
				e.Exec = func(string, []string) ([]byte, error) { return []byte("000"), nil }
				err := worker.Kill(t.Context())
				if test.want != "" {
					fails(t, err, test.want)
				} else if err != nil {
					t.Error(err)
				}
				if text, err := os.ReadFile(state); err != nil || (string(text) == "THAWED") != (test.want == "") {
					t.Errorf("the freezer is %s, %v", text, err)
				}
			})
		})
	}
}

// A paused node is frozen on purpose, and is not unfrozen.
func TestAPausedNodeStaysFrozen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newFakeEngine("podman")
		c := fakeCluster(t, e)
		c.freezers = t.TempDir()
		worker := nodeOf(t, c, clusters.Worker)
		e.Containers[worker.name].ID = strings.Repeat("6c", 32)
		state := fakeFreezer(t, c.freezers, e.Containers[worker.name].ID)
		e.Exec = e.Answer
		if err := worker.Pause(t.Context()); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(state); err != nil || string(text) != "FROZEN" {
			t.Errorf("the freezer is %s, %v", text, err)
		}
	})
}
