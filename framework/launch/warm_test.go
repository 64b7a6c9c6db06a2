package launch

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/clusters/kind/inventory"
)

// Of the warm clusters, the first is used that has the wanted spec and is free. Why another one cannot be used is said.
func TestFind(t *testing.T) {
	t.Setenv("HOLDFAST_CACHE", t.TempDir())
	lab, stock := clusters.Spec{Zones: []string{"a"}}, clusters.Spec{Zones: []string{"a"}, Profile: clusters.Stock}
	specs := map[string]clusters.Spec{"a-gone": lab, "b-stock": stock, "c-used": lab, "d-free": lab, "e-free": lab}
	for name := range specs {
		if err := inventory.KeepWarm(name); err != nil {
			t.Fatal(err)
		}
	}
	var said []string
	w := warm{
		open: func(_ context.Context, name string) (clusters.Cluster, error) {
			if name == "a-gone" {
				return nil, errors.New("it does not exist")
			}
			return clustertest.New(name, specs[name]), nil
		},
		free: func(_ context.Context, c clusters.Cluster) error {
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
	if got := find(lab); got != "d-free" {
		t.Errorf("found %q", got)
	}
	want := []string{
		"cluster a-gone is kept warm, and cannot be used: it does not exist", "cluster c-used is kept warm, and cannot be used: run 7 uses it",
		"cluster d-free was kept warm, and is used in place of a new one",
	}
	if !slices.Equal(said, want) {
		t.Errorf("said %q, want %q", said, want)
	}
	if err := w.Spoil("d-free"); err != nil || isWarm("d-free") || !isWarm("e-free") {
		t.Errorf("after it was spoiled: %v", err)
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
