package kind

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// fakeFreezer creates a cgroup v1 freezer below root that holds a process of the container with the given ID. It returns the file with
// the state of the freezer.
func fakeFreezer(t *testing.T, root, id string) (state string) {
	t.Helper()
	state = filepath.Join(root, "libpod_parent", "libpod-"+id, "kubelet.slice", "pod", "freezer.state")
	if err := errors.Join(os.MkdirAll(filepath.Dir(state), 0o755), os.WriteFile(state, []byte("FROZEN"), 0o600)); err != nil {
		t.Fatal(err)
	}
	return state
}
