package inventory

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/clusters/engine/enginetest"
)

func TestUnfreeze(t *testing.T) {
	root, ours, other := t.TempDir(), strings.Repeat("6c", 32), strings.Repeat("ab", 32)
	files := map[string]string{ours: enginetest.Freezer(t, root, ours), other: enginetest.Freezer(t, root, other)}
	if err := Unfreeze(root, "cannot remove container "+ours+" as it could not be stopped"); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{ours: "THAWED", other: "FROZEN"} {
		if got, err := os.ReadFile(files[id]); err != nil || string(got) != want {
			t.Errorf("%s is %s, %v; want %s", id, got, err, want)
		}
	}
	if err := Unfreeze(filepath.Join(root, "no cgroups of version 1"), ours); err != nil {
		t.Error(err)
	}
}
