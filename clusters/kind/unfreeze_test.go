package kind

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/holdfast-ha/holdfast/clusters"
)

// frozen creates a cgroup v1 freezer that holds a process of a node.
func frozen(t *testing.T, root, id string) (state string) {
	t.Helper()
	state = filepath.Join(root, "libpod_parent", "libpod-"+id, "kubelet.slice", "pod", "freezer.state")
	if err := errors.Join(os.MkdirAll(filepath.Dir(state), 0o755), os.WriteFile(state, []byte("FROZEN"), 0o600)); err != nil {
		t.Fatal(err)
	}
	return state
}

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
				e.containers[worker.name].id = id
				state := frozen(t, c.freezers, test.frozen)
				killed := false
				e.fail = func(args []string) error {
					killed = killed || args[0] == "kill"
					at := e.containers[worker.name]
					if text, err := os.ReadFile(state); killed && err == nil && args[0] != "kill" {
						at.state = map[bool]string{true: "exited", false: "stopping"}[string(text) == "THAWED" && test.want == ""]
					}
					return nil
				}
				e.exec = func(string, []string) ([]byte, error) { return []byte("000"), nil }
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
		e.containers[worker.name].id = strings.Repeat("6c", 32)
		state := frozen(t, c.freezers, e.containers[worker.name].id)
		e.exec = e.answer
		if err := worker.Pause(t.Context()); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(state); err != nil || string(text) != "FROZEN" {
			t.Errorf("the freezer is %s, %v", text, err)
		}
	})
}

func TestUnfreeze(t *testing.T) {
	root, ours, other := t.TempDir(), strings.Repeat("6c", 32), strings.Repeat("ab", 32)
	files := map[string]string{ours: frozen(t, root, ours), other: frozen(t, root, other)}
	if err := unfreeze(root, "cannot remove container "+ours+" as it could not be stopped"); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{ours: "THAWED", other: "FROZEN"} {
		if got, err := os.ReadFile(files[id]); err != nil || string(got) != want {
			t.Errorf("%s is %s, %v; want %s", id, got, err, want)
		}
	}
	if err := unfreeze(filepath.Join(root, "no cgroups of version 1"), ours); err != nil {
		t.Error(err)
	}
}
