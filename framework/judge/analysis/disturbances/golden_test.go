package disturbances_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/disturbances"
)

// TestRealFaultsAreFound reads the real records of runs without their fault marks, and finds what the faults did: each node and each pod that
// a fault took and that a watch saw go, in a disturbance of the right kind.
func TestRealFaultsAreFound(t *testing.T) {
	files, err := filepath.Glob("../../invariant/testdata/golden/*.tar.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("golden runs: %d, %v", len(files), err)
	}
	kinds := make(map[disturbances.Kind]int)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			files, err := ht.Unpack(file)
			if err != nil {
				t.Fatal(err)
			}
			run, err := history.OpenFS(files, file)
			if err != nil {
				t.Fatal(err)
			}
			b, err := ht.Of(run)
			if err != nil {
				t.Fatal(err)
			}
			found := disturbances.Of(b.AsRecording().Run())
			for _, d := range found {
				kinds[d.Kind]++
			}
			ended := endings(run)
			for _, fault := range timeline.Faults(run) {
				for _, name := range fault.Pods {
					if ended[name] && !slices.ContainsFunc(found, func(d disturbances.Disturbance) bool { return has(d, name) }) {
						t.Errorf("%s took %s, which nothing found: %+v", fault.Name, name, found)
					}
				}
				for _, node := range fault.Nodes {
					if !slices.ContainsFunc(found, func(d disturbances.Disturbance) bool { return slices.Contains(d.Nodes, node) }) {
						t.Errorf("%s took %s, which nothing found: %+v", fault.Name, node, found)
					}
				}
			}
			for _, d := range found {
				if d.From > d.Seen || d.Seen > max(d.Over, d.Seen) || d.Words == "" || d.Name == "" {
					t.Errorf("%+v", d)
				}
			}
		})
	}
	for _, kind := range []disturbances.Kind{disturbances.Drain, disturbances.NodeLost, disturbances.Pressure, disturbances.Rollout, disturbances.Scale, disturbances.Eviction, disturbances.Deletion} {
		if kinds[kind] == 0 {
			t.Errorf("no golden run has a %s: %v", kind, kinds)
		}
	}
}

func has(d disturbances.Disturbance, pod string) bool {
	return slices.ContainsFunc(d.Pods, func(p disturbances.Pod) bool { return p.Name == pod })
}

// endings are the names of the pods that were seen to go.
func endings(run history.Run) map[string]bool {
	ended := make(map[string]bool)
	for _, e := range run.Events {
		if e.Pod != nil && (e.Pod.Deleting || e.Pod.Change == history.Deleted) {
			ended[e.Pod.Name] = true
		}
	}
	return ended
}
