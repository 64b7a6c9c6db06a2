package doctor

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/clusters/engine"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestExamine(t *testing.T) {
	tests := map[string]struct {
		machine func(*testing.T) *machine
		ok      bool
	}{
		"laptop": {ok: true, machine: func(t *testing.T) *machine { m, _ := laptop(t); return m }},
		"hybrid": {ok: true, machine: func(t *testing.T) *machine { m, _ := hybrid(t); return m }},
		"nothing": {machine: func(t *testing.T) *machine {
			m, _ := newMachine(t, nil)
			m.uid = 1000
			m.lose(&engine.NotFoundError{
				Refusals: []engine.Refusal{{Engine: "docker", Reason: "not installed"}, {Engine: "podman", Reason: "not installed"}},
				Remedy:   "start one\nsudo apt-get update && sudo apt-get install podman",
			})
			m.refuse("", errNotTried)
			return m
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			report := test.machine(t).examine(t.Context(), Options{CacheDir: "/cache"})
			if report.OK != test.ok {
				t.Errorf("OK %t, want %t", report.OK, test.ok)
			}
			var text, object bytes.Buffer
			if err := errors.Join(report.WriteText(&text), report.WriteJSON(&object)); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".txt", text.Bytes())
			golden(t, name+".json", object.Bytes())
		})
	}
}
