package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/clusters/kind/inventory"
	"github.com/holdfast-ha/holdfast/clusters/nodeimage"
	"github.com/holdfast-ha/holdfast/framework/base/errtest"
	"github.com/holdfast-ha/holdfast/framework/provider"
)

// Of the warm clusters, the first is used that has the wanted spec and is free. The run says why it cannot use another one.
func TestFind(t *testing.T) {
	t.Setenv("HOLDFAST_CACHE", t.TempDir())
	lab := clusters.Spec{Zones: []string{"a"}, Kubernetes: nodeimage.DefaultKubernetes}
	older, stock := lab, lab
	older.Kubernetes, stock.Profile = "v1.36.3", clusters.Stock
	specs := map[string]clusters.Spec{"a-gone": lab, "b-older": older, "b-stock": stock, "c-used": lab, "d-free": lab, "e-free": lab}
	for name := range specs {
		if err := inventory.KeepWarm(name); err != nil {
			t.Fatal(err)
		}
	}
	var said []string
	w := warm{
		open: func(_ context.Context, name string) (clusters.Cluster, error) {
			if name == "a-gone" {
				return nil, fmt.Errorf("open cluster %s: %w; 'holdfast up %s' makes it", name, &inventory.NotFoundError{Name: name}, name)
			}
			return clustertest.New(name, specs[name]), nil
		},
		usable: func(_ context.Context, c clusters.Cluster) error {
			if c.Name() == "c-used" {
				return errors.New("run 7 uses it")
			}
			return nil
		},
		say: func(line string) { said = append(said, line) },
	}
	find := func(spec clusters.Spec) string {
		t.Helper()
		said = nil
		name, err := w.Find(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	anyVersion := lab
	anyVersion.Kubernetes = ""
	for _, spec := range []clusters.Spec{lab, anyVersion} {
		if got := find(spec); got != "d-free" {
			t.Errorf("found %q", got)
		}
	}
	if got := find(older); got != "b-older" {
		t.Errorf("found %q for an older version", got)
	}
	find(lab)
	want := []string{
		"cluster a-gone is kept warm, and cannot be used: cluster a-gone does not exist: 'holdfast down a-gone' forgets it",
		"cluster c-used is kept warm, and cannot be used: run 7 uses it",
		"cluster d-free was kept warm, and is used in place of a new one",
	}
	if !slices.Equal(said, want) {
		t.Errorf("said %q, want %q", said, want)
	}
	if err := w.Spoil("d-free"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"d-free": false, "e-free": true, "unheard-of": false} {
		if got, err := inventory.IsWarm(name); got != want || err != nil {
			t.Errorf("after d-free was spoiled, %s is kept warm: %t, %v", name, got, err)
		}
	}
	if got := find(lab); got != "e-free" {
		t.Errorf("found %q after d-free was spoiled", got)
	}
	if got := find(clusters.Spec{Zones: []string{"a", "b"}}); got != "" || slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, "is used") }) {
		t.Errorf("found %q and said %q, and no warm cluster has that spec", got, said)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if name, err := w.Find(stopped, lab); name != "" || !errors.Is(err, context.Canceled) {
		t.Errorf("after an interrupt: %q, %v", name, err)
	}
}

// Where any version is wanted, a warm cluster may have each one that a new cluster might have, and no other. Where the default version is wanted by
// name, it has that one.
func TestFindOfAnEmptyVersion(t *testing.T) {
	t.Setenv("HOLDFAST_CACHE", t.TempDir())
	if err := inventory.KeepWarm("a"); err != nil {
		t.Fatal(err)
	}
	versions := nodeimage.DefaultVersions()
	for _, test := range []struct {
		has, wanted string
		used        bool
	}{
		{versions[0], "", true}, {versions[len(versions)-1], "", true}, {"v1.30.0", "", false},
		{versions[len(versions)-1], nodeimage.DefaultKubernetes, len(versions) == 1},
	} {
		w := warm{
			open: func(_ context.Context, name string) (clusters.Cluster, error) {
				return clustertest.New(name, clusters.Spec{Zones: []string{"a"}, Kubernetes: test.has}), nil
			},
			usable: func(context.Context, clusters.Cluster) error { return nil },
			say:    func(string) {},
		}
		name, err := w.Find(t.Context(), clusters.Spec{Zones: []string{"a"}, Kubernetes: test.wanted})
		if (name == "a") != test.used || err != nil {
			t.Errorf("has %s, and %q is wanted: found %q, %v", test.has, test.wanted, name, err)
		}
	}
}

// creates is a provider that fails to create a cluster, and a test can see that it was asked.
type creates struct{}

var errCreated = errors.New("create was called")

func (creates) Create(context.Context, string, clusters.Spec) (clusters.Cluster, error) {
	return nil, errCreated
}

// A warm cluster is opened and left, and any other is created and deleted. A cluster whose mark cannot be read is neither created nor deleted.
func TestWarmClustersAreLeft(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file") // whether something is in it cannot be known, not even by root
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	warm := clustertest.New("warm", clusters.Spec{})
	p := provider.Provider{Provider: creates{}, Open: func(context.Context, string) (clusters.Cluster, error) { return warm, nil }}
	for _, c := range []struct {
		name, cache string
		warm        bool
		opened      error
		closed      string
	}{
		{"warm", t.TempDir(), true, nil, ""},
		{"cold", t.TempDir(), false, errCreated, "Delete was called"},
		{"unknown", file, false, syscall.ENOTDIR, "find out whether cluster unknown is kept warm"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("HOLDFAST_CACHE", c.cache)
			if c.warm {
				if err := inventory.KeepWarm(c.name); err != nil {
					t.Fatal(err)
				}
			}
			if opened, err := (Options{}).opener(p)(t.Context(), c.name, clusters.Spec{}); !errors.Is(err, c.opened) || c.warm && opened != warm {
				t.Errorf("opened %v with %v, want %v", opened, err, c.opened)
			}
			err := (Options{}).closer(func(string) {})(t.Context(), clustertest.New(c.name, clusters.Spec{}))
			errtest.Check(t, err, c.closed)
		})
	}
}
