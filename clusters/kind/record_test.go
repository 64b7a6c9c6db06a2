package kind

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/clusters"
)

// A stored upgrade is applied when the same cluster is opened again, but not to a later cluster of the same name.
func TestUpgradeIsKept(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("HOLDFAST_CACHE", cache)
	made := clusterRecord{Spec: clusters.Spec{Zones: []string{"a"}, Kubernetes: "v1.36.3"}, Image: "node:v1.36.3", Made: time.Unix(7, 0).UTC()}
	if diff := cmp.Diff(made, keptUpgrade("x", made)); diff != "" {
		t.Errorf("never upgraded (-want +got):\n%s", diff)
	}
	now := made
	now.Spec.Kubernetes, now.Image = "v1.37.0", "node:v1.37.0"
	if err := storeUpgrade("x", now); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(now, keptUpgrade("x", made)); diff != "" {
		t.Errorf("upgraded (-want +got):\n%s", diff)
	}
	later := made
	later.Made = time.Unix(8, 0).UTC()
	if diff := cmp.Diff(later, keptUpgrade("x", later)); diff != "" {
		t.Errorf("another cluster of that name (-want +got):\n%s", diff)
	}
	path, err := upgradePath("x")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(made, keptUpgrade("x", made)); diff != "" {
		t.Errorf("a file that was cut off (-want +got):\n%s", diff)
	}
	if err := forget("x"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(path)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the stored record outlives its cluster: %v", err)
	}
}
