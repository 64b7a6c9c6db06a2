package kind

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// inCache gives a test its own cache folder.
func inCache(t *testing.T) string {
	dir := t.TempDir()
	t.Setenv("HOLDFAST_CACHE", dir)
	return dir
}

func TestDeleteAllTakesOursOnly(t *testing.T) {
	cache := inCache(t)
	e := newFakeEngine("podman")
	fakeCluster(t, e)
	e.run("kind-control-plane")
	e.volumes["v1"] = "map[holdfast-crashed-worker2:true]"
	e.networks["podman"] = map[string]string{}
	file := filepath.Join(cache, "clusters", "x", "kubeconfig")
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}

	got, err := deleteAll(t.Context(), e)
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
	left := []string{strings.Join(keys(e.containers), ","), strings.Join(keys(e.volumes), ","), strings.Join(keys(e.networks), ",")}
	if diff := cmp.Diff([]string{"kind-control-plane", "vol-kind-control-plane", "podman"}, left); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(cache, "clusters")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the kubeconfigs are still there: %v", err)
	}
	if again, err := deleteAll(t.Context(), e); err != nil || !again.Nothing() {
		t.Errorf("a second time: %v, %v", again, err)
	}
}

// A cluster that could not be removed keeps its kubeconfig, so that it can be reached; the others lose theirs.
func TestDeleteAllKeepsTheStateOfWhatIsLeft(t *testing.T) {
	cache := inCache(t)
	e := newFakeEngine("podman")
	fakeCluster(t, e)
	e.fail = func(args []string) error {
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
	if _, err := deleteAll(t.Context(), e); err == nil {
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
	e := newFakeEngine("podman")
	fakeCluster(t, e)
	late := []string{"holdfast-x-worker3"}
	e.fail = func(args []string) error {
		if args[0] == "network" && args[1] == "rm" && len(late) > 0 { // kind is still creating a container
			e.containers[late[0]], late = &fakeContainer{state: "running"}, nil
		}
		return nil
	}
	got, err := remove(t.Context(), e, "x")
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Containers) != 4 || len(e.containers) != 0 {
		t.Errorf("removed %v, left %v", got.Containers, keys(e.containers))
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
				e := newFakeEngine("podman")
				fakeCluster(t, e)
				asked := 0
				e.fail = func(args []string) error {
					if args[0] != "rm" {
						return nil
					}
					if asked++; asked > s.refusals {
						return nil
					}
					time.Sleep(5 * time.Second) // podman also waits for some seconds
					return errors.New("cannot remove container 6cdb as it could not be stopped: given PIDs did not die within timeout")
				}
				_, err := remove(t.Context(), e, "x")
				if s.want == "" && (err != nil || len(e.containers) > 0) || s.want != "" && (err == nil || !strings.Contains(err.Error(), s.want)) {
					t.Errorf("asked %d times: %v, left %v", asked, err, keys(e.containers))
				}
			})
		})
	}
}

func TestRemoveSaysWhatTheEngineSaid(t *testing.T) {
	inCache(t)
	e := newFakeEngine("docker")
	fakeCluster(t, e)
	e.fail = func(args []string) error {
		if args[0] == "rm" {
			return errors.New("the engine died")
		}
		return nil
	}
	_, err := remove(t.Context(), e, "x")
	if err == nil || err.Error() != "remove cluster x: the engine died" {
		t.Errorf("got %v", err)
	}
}

// Containers that kind creates after its error are removed too, even if the run was interrupted.
func TestDiscardWaitsForStragglers(t *testing.T) {
	inCache(t)
	synctest.Test(t, func(t *testing.T) {
		e := newFakeEngine("podman")
		fakeCluster(t, e)
		looks := 0
		e.fail = func(args []string) error {
			if args[0] == "ps" {
				if looks++; looks == 4 {
					e.containers["holdfast-x-worker9"] = &fakeContainer{state: "running"}
				}
			}
			return nil
		}
		b := builder{e: e, log: slog.Default(), name: "x"}
		if err := b.discard(canceled(t)); err != nil {
			t.Fatal(err)
		}
		if len(e.containers)+len(e.networks)+len(e.volumes) != 0 || looks < 4 {
			t.Errorf("left after %d looks: %v %v %v", looks, keys(e.containers), keys(e.networks), keys(e.volumes))
		}
	})
}

func TestParentOf(t *testing.T) {
	for stat, want := range map[string]int{
		"42 (podman) S 17 42 42 0":       17,
		"42 (a ) b) (c) R 18 42 42 0":    18,
		"42 (podman) S":                  0,
		"":                               0,
		"42 (podman) S seventeen 42 0 0": 0,
	} {
		if got := parentOf(stat); got != want {
			t.Errorf("parentOf(%q) = %d, want %d", stat, got, want)
		}
	}
}
