package kind

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/clusters/engine"
)

// A cluster whose maker was killed counts as abandoned. A cluster is not abandoned if its maker is alive, if it is kept, or if
// either is unknown.
func TestMakers(t *testing.T) {
	for _, name := range []string{engine.Podman, engine.Docker} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HOLDFAST_CACHE", t.TempDir())
			f := newFakeEngine(name)
			file := filepath.Join(t.TempDir(), "file") // whether something is in it cannot be known, not even by root
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			for cluster, spoil := range map[string]func(*Maker){
				"going-on": func(*Maker) {},
				"killed":   func(m *Maker) { m.Began += "1" }, // as if the PID had been reused
				"kept":     func(m *Maker) { m.Began += "1" },
				"far":      func(m *Maker) { m.Host, m.Machine, m.Began = "far", "far", m.Began+"1" },
				"unread":   func(m *Maker) { m.Began, m.State = m.Began+"1", file },
			} {
				m, err := newMaker(cluster, "holdfast run")
				if err != nil {
					t.Fatal(err)
				}
				spoil(m)
				label(t, f, cluster, clusterRecord{Spec: zonedSpec, Maker: m})
			}
			label(t, f, "older", clusterRecord{Spec: zonedSpec})
			if err := markKept("kept"); err != nil {
				t.Fatal(err)
			}
			all, err := Makers(t.Context(), f)
			if len(all) != 5 || all[0].Name != "far" || all[3].Name != "killed" {
				t.Fatalf("%v: %+v", err, all)
			}
			all = slices.DeleteFunc(all, func(m Made) bool { return !m.Abandoned() })
			if err != nil || len(all) != 1 || all[0].Name != "killed" {
				t.Fatalf("%v: %+v", err, all)
			}
			want := "cluster killed is left: 'holdfast run' (process "
			if text := all[0].String(); !strings.HasPrefix(text, want) || !strings.HasSuffix(text, ": holdfast down killed") {
				t.Errorf("says %s", text)
			}
			if err := forget("kept"); err != nil { // removing a cluster also removes its mark
				t.Fatal(err)
			}
			if _, err := os.Stat(all[0].State); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the state folder of a cluster that was never kept: %v", err)
			}
		})
	}
}

// label creates the network of a cluster with its record.
func label(t *testing.T, f *fakeEngine, cluster string, r clusterRecord) {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	f.Networks[prefix+cluster] = map[string]string{labelCluster: cluster, labelRecord: string(text)}
}
