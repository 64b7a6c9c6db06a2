package engine

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRemoveProbes(t *testing.T) {
	record := filepath.Join(t.TempDir(), "record")
	e := script(t, `echo "$*" >>`+record+`; case "$1" in ps) echo c1; echo c2;; images) ;; esac`)
	if err := e.RemoveProbes(t.Context()); err != nil {
		t.Fatal(err)
	}
	const want = "ps --all --quiet --filter label=holdfast.dev/owner=probe\nrm --force --volumes c1 c2\n" +
		"images --quiet --filter label=holdfast.dev/owner=probe\n"
	if got, err := os.ReadFile(record); err != nil || string(got) != want {
		t.Errorf("ran (%v)\n%swant\n%s", err, got, want)
	}
}

func TestRemoveProbesError(t *testing.T) {
	for text, want := range map[string]string{
		`exit 1`: "list probes: run podman ps --all --quiet --filter label=holdfast.dev/owner=probe: exit status 1",
		`case "$1" in rm) echo "Error: busy" >&2; exit 2;; *) echo c1;; esac`: "remove probes: " +
			"run podman rm --force --volumes c1: exit status 2: Error: busy",
	} {
		if err := script(t, text).RemoveProbes(t.Context()); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
