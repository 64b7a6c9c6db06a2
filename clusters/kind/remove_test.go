package kind

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/clusters"
)

// inCache gives a test its own cache folder.
func inCache(t *testing.T) string {
	dir := t.TempDir()
	t.Setenv("HOLDFAST_CACHE", dir)
	return dir
}

var zonedSpec = clusters.Spec{Zones: []string{"a"}}.WithDefaults()

// withCluster is an engine with the complete cluster x of three nodes.
func withCluster(t *testing.T, name string) *fakeEngine {
	t.Helper()
	e := newFakeEngine(name)
	if err := reserve(t.Context(), e, "x", clusterRecord{Spec: zonedSpec, Made: time.Unix(0, 0).UTC()}); err != nil {
		t.Fatal(err)
	}
	for _, node := range []string{"control-plane", "worker", "worker2"} {
		e.Run(prefix + "x-" + node)
	}
	return e
}

func TestDeleteAllTakesOursOnly(t *testing.T) {
	cache := inCache(t)
	e := withCluster(t, "podman")
	e.Run("kind-control-plane")
	e.Volumes["v1"] = "map[holdfast-crashed-worker2:true]"
	e.Networks["podman"] = map[string]string{}
	file := filepath.Join(cache, "clusters", "x", "kubeconfig")
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}

	got, err := DeleteAll(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	want := Removed{
		Containers: []string{"holdfast-x-control-plane", "holdfast-x-worker", "holdfast-x-worker2"},
		Volumes:    []string{"v1", "vol-holdfast-x-control-plane", "vol-holdfast-x-worker", "vol-holdfast-x-worker2"},
		Networks:   []string{"holdfast-x"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
	left := []string{strings.Join(slices.Sorted(maps.Keys(e.Containers)), ","), strings.Join(slices.Sorted(maps.Keys(e.Volumes)), ","), strings.Join(slices.Sorted(maps.Keys(e.Networks)), ",")}
	if diff := cmp.Diff([]string{"kind-control-plane", "vol-kind-control-plane", "podman"}, left); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(cache, "clusters", "x")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the kubeconfigs are still there: %v", err)
	}
	if again, err := DeleteAll(t.Context(), e); err != nil || !again.Nothing() {
		t.Errorf("a second time: %v, %v", again, err)
	}
}

// A cluster that could not be removed keeps its kubeconfig, so that it can be reached; the others lose theirs.
func TestDeleteAllKeepsTheStateOfWhatIsLeft(t *testing.T) {
	cache := inCache(t)
	e := withCluster(t, "podman")
	e.Fail = func(args []string) error {
		if args[0] == "rm" {
			return errors.New("device or resource busy")
		}
		return nil
	}
	for _, name := range []string{"x", "gone"} {
		file := filepath.Join(cache, "clusters", name, "kubeconfig")
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := DeleteAll(t.Context(), e); err == nil {
		t.Fatal("no error")
	}
	if _, err := os.Stat(filepath.Join(cache, "clusters", "x", "kubeconfig")); err != nil {
		t.Errorf("of the one that is left: %v", err)
	}
	if _, err := os.Stat(filepath.Join(cache, "clusters", "gone")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of the other: %v", err)
	}
}

func TestRemoveLooksAgain(t *testing.T) {
	inCache(t)
	e := withCluster(t, "podman")
	late := []string{"holdfast-x-worker3"}
	e.Fail = func(args []string) error {
		if args[0] == "network" && args[1] == "rm" && len(late) > 0 { // kind is still creating a container
			e.Containers[late[0]], late = &fakeContainer{State: "running"}, nil
		}
		return nil
	}
	got, err := Delete(t.Context(), e, "x")
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Containers) != 4 || len(e.Containers) != 0 {
		t.Errorf("removed %v, left %v", got.Containers, slices.Sorted(maps.Keys(e.Containers)))
	}
}

// A node that is killed on a busy machine may take longer to exit than podman waits. That is no error, as long as the node
// exits.
func TestRemoveWaitsForWhatIsEnding(t *testing.T) {
	for name, s := range map[string]struct {
		refusals int
		want     string
	}{
		"it ends":       {3, ""},
		"it never does": {1 << 30, "did not die within timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inCache(t)
				e := withCluster(t, "podman")
				asked := 0
				e.Fail = func(args []string) error {
					if args[0] != "rm" {
						return nil
					}
					if asked++; asked > s.refusals {
						return nil
					}
					time.Sleep(5 * time.Second) // podman also waits for some seconds
					return errors.New("cannot remove container 6cdb as it could not be stopped: given PIDs did not die within timeout")
				}
				_, err := Delete(t.Context(), e, "x")
				if s.want == "" && (err != nil || len(e.Containers) > 0) || s.want != "" && (err == nil || !strings.Contains(err.Error(), s.want)) {
					t.Errorf("asked %d times: %v, left %v", asked, err, slices.Sorted(maps.Keys(e.Containers)))
				}
			})
		})
	}
}

// A name that no cluster can have is not a path: nothing outside the folder of one cluster is removed.
func TestForgetKeepsToTheFolderOfOneCluster(t *testing.T) {
	cache := inCache(t)
	if err := markKept("x"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", ".", "..", "../clusters", "y"} {
		if err := forget(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(cache, "clusters", "x", keptFile)); err != nil {
		t.Errorf("the mark of another cluster: %v", err)
	}
}
