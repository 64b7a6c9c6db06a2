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
