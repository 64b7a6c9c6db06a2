package kind

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUnfreeze(t *testing.T) {
	root, ours, other := t.TempDir(), strings.Repeat("6c", 32), strings.Repeat("ab", 32)
	files := map[string]string{ours: fakeFreezer(t, root, ours), other: fakeFreezer(t, root, other)}
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
