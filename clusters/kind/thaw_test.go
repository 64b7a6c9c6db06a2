package kind

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestThaw(t *testing.T) {
	root, ours, other := t.TempDir(), strings.Repeat("6c", 32), strings.Repeat("ab", 32)
	state := func(id string) string {
		return filepath.Join(root, "libpod_parent", "libpod-"+id, "kubelet.slice", "pod", "freezer.state")
	}
	for _, id := range []string{ours, other} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(state(id)), 0o755), os.WriteFile(state(id), []byte("FROZEN"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := thaw(root, errors.New("cannot remove container "+ours+" as it could not be stopped")); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{ours: "THAWED", other: "FROZEN"} {
		if got, err := os.ReadFile(state(id)); err != nil || string(got) != want {
			t.Errorf("%s is %s, %v; want %s", id, got, err, want)
		}
	}
	if err := thaw(filepath.Join(root, "no cgroups of version 1"), errors.New(ours)); err != nil {
		t.Error(err)
	}
}
