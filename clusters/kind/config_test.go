package kind

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-ha/holdfast/clusters"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares text with a file below testdata.
func golden(t *testing.T, file, text string) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; write it with -update", err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

func TestConfigure(t *testing.T) {
	own := ground{image: "localhost/node:v1.37.0", minor: 37, ownNetwork: true, cgroupV1: true}
	stock := ground{image: "kindest/node:v1.36.3", minor: 36}
	for _, tt := range []struct {
		file string
		spec clusters.Spec
		on   ground
	}{
		{"lab-own-image.yaml", clusters.Spec{Zones: []string{"a", "b", "c"}, WorkersPerZone: 2}, own},
		{"stock-timings.yaml", clusters.Spec{
			Zones: []string{"a"}, Profile: clusters.Stock, ProxyMode: clusters.IPTables,
		}, stock},
		{"labels-per-worker.yaml", clusters.Spec{
			Zones: []string{"a", "b"}, WorkersPerZone: 2,
			PerWorker: map[string][]string{"rack": {"r1", "r2", "r3"}, clusters.LabelRegion: {"north", "north", "south", "south"}},
		}, own},
		{"one-that-elects.yaml", clusters.Spec{Zones: []string{"a"}, LeaderElection: true}, stock},
		{"simulated-nodes.yaml", clusters.Spec{Zones: []string{"a"}, SimulatedNodes: 100}, own},
		{"plain.yaml", clusters.Spec{Zones: []string{"a", "b"}, Profile: clusters.Stock, ProxyMode: clusters.IPTables, LeaderElection: true, Plain: true},
			ground{image: "localhost/node:v1.37.0", minor: 37, ownNetwork: true, audit: "/cache/clusters/demo/audit"}},
		{"three-control-planes.yaml", clusters.Spec{Zones: []string{"a"}, ControlPlanes: 3}, stock},
	} {
		t.Run(tt.file, func(t *testing.T) {
			text, err := yaml.Marshal(configure("demo", tt.spec.WithDefaults(), tt.on))
			if err != nil {
				t.Fatal(err)
			}
			golden(t, tt.file, string(text))
		})
	}
}

// Kubelets before 1.31 refuse the field.
func TestFailCgroupV1OnlyWhereKnownAndNeeded(t *testing.T) {
	for _, tt := range []struct {
		on   ground
		want bool
	}{
		{ground{minor: 31, cgroupV1: true}, true},
		{ground{minor: 30, cgroupV1: true}, false},
		{ground{minor: 37, cgroupV1: false}, false},
	} {
		if got := strings.Contains(kubeletPatch(clusters.Spec{}, tt.on), "failCgroupV1"); got != tt.want {
			t.Errorf("minor %d, cgroup v1 %t: failCgroupV1 given: %t", tt.on.minor, tt.on.cgroupV1, got)
		}
	}
}
