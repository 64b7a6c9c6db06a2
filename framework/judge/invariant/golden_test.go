package invariant_test

import (
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// How a golden run is added stands in testdata/golden/README.md.
var (
	add    = flag.String("add", "", "add the record in this folder to the golden runs")
	update = flag.Bool("update", false, "write down the verdicts of golden runs that have none yet, and what verdicts say")
)

const (
	goldenFolder = "testdata/golden"
	packedSuffix = ".tar.gz"
)

// goldenVerdict is what a later version must find too: what was found, when, and the figures. It may word it otherwise, and
// measure more.
type goldenVerdict struct {
	Kind    string             `json:"kind"`
	Outcome verdict.Outcome    `json:"outcome"`
	At      history.Offset     `json:"at,omitempty"`
	Numbers map[string]float64 `json:"numbers,omitempty"`
}

// goldenRuns are the names of the real runs that are kept.
func goldenRuns(t testing.TB) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(goldenFolder, "*"+packedSuffix))
	if err != nil {
		t.Fatal(err)
	}
	for i := range found {
		found[i] = strings.TrimSuffix(filepath.Base(found[i]), packedSuffix)
	}
	return found
}

func unpackGolden(t testing.TB, name string) (fstest.MapFS, history.Run) {
	t.Helper()
	files, err := ht.Unpack(filepath.Join(goldenFolder, name+packedSuffix))
	if err != nil {
		t.Fatal(err)
	}
	run, err := history.OpenFS(files, name)
	if err != nil {
		t.Fatal(err)
	}
	return files, run
}

// judgeAsStored judges a record as holdfast judge does: of a mutant, the first verdict is that it was caught.
func judgeAsStored(run history.Run) []verdict.Verdict {
	verdicts := judge.Judge(run)
	if run.Header.Mutant != nil {
		verdicts = slices.Insert(verdicts, 0, judge.Caught(run, verdicts))
	}
	return verdicts
}

// TestGoldenRuns judges real runs, which older versions recorded, and demands what was found of them when they were added.
func TestGoldenRuns(t *testing.T) {
	if *add != "" {
		addGolden(t, *add)
	}
	names := goldenRuns(t)
	if len(names) == 0 {
		t.Fatal("there are no golden runs")
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			_, run := unpackGolden(t, name)
			var got []goldenVerdict
			for _, v := range judgeAsStored(run) {
				got = append(got, goldenVerdict{v.Kind, v.Outcome, v.At, v.Numbers})
				checkLimits(t, v)
			}
			want := readGolden(t, name, got)
			for i := range min(len(want), len(got)) {
				onlyOld(got[i].Numbers, want[i].Numbers)
			}
			if diff := cmp.Diff(want, got, cmp.Comparer(nearly)); diff != "" {
				t.Errorf("the verdicts on an old run have changed (-want +got):\n%s", diff)
			}
		})
	}
}

// checkLimits demands that a verdict measured what it limits, and that what was held is within its limits. The verdict on a mutant has
// the limits of the promise that it broke.
func checkLimits(t *testing.T, v verdict.Verdict) {
	t.Helper()
	for name, limit := range v.Limits {
		number, measured := v.Numbers[name]
		if !measured || v.Outcome == verdict.Held && v.Kind != "Caught" && !limit.Kept(number) {
			t.Errorf("%s is %s with %s = %v, measured: %t, and the limit %+v", v.Kind, v.Outcome, name, number, measured, limit)
		}
	}
}

// nearly lets the last digits differ, which they may between processors.
func nearly(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b)) }

// onlyOld takes out figures that were not measured when the run was added.
func onlyOld(numbers, old map[string]float64) {
	for name := range numbers {
		if _, known := old[name]; !known {
			delete(numbers, name)
		}
	}
}

// readGolden reads what was found of a run. What is there is never overwritten.
func readGolden(t *testing.T, name string, got []goldenVerdict) (want []goldenVerdict) {
	t.Helper()
	file := filepath.Join(goldenFolder, name+".json")
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) && (*update || *add != "") {
		if data, err = json.MarshalIndent(got, "", "  "); err == nil {
			err = os.WriteFile(file, append(data, '\n'), 0o644)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return want
}

// addGolden packs a record under its scenario's name.
func addGolden(t *testing.T, dir string) {
	t.Helper()
	run, err := history.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(goldenFolder, filepath.Base(run.Header.Scenario)+packedSuffix)
	packed, err := ht.Pack(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(name); err == nil {
		t.Fatalf("%s is there already: golden runs are not replaced", name)
	}
	if err := os.WriteFile(name, packed, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d bytes", name, len(packed))
}

// TestGoldenRunsCoverEnough keeps records from being taken out until nothing is shown any more.
func TestGoldenRunsCoverEnough(t *testing.T) {
	var found []string
	size := int64(0)
	for _, name := range goldenRuns(t) {
		_, run := unpackGolden(t, name)
		for _, v := range judgeAsStored(run) {
			found = append(found, v.Kind+" "+string(v.Outcome))
		}
		for _, f := range timeline.Faults(run) {
			found = append(found, f.Name)
		}
		info, err := os.Stat(filepath.Join(goldenFolder, name+packedSuffix))
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	for _, want := range []string{
		"AuditMends held", "AuditMends unknown", "AuditMends violated", "BudgetHonoured held", "BudgetHonoured unknown",
		"BudgetHonoured violated", "Caught held", "Caught unknown", "DrainBlocked violated", "DrainCompletes unknown",
		"FailuresEndWithin held", "FailuresEndWithin violated", "NoFailedRequests held", "NoFailedRequests unknown",
		"NoFailedRequests violated", "Placed held", "Placed violated", "Placement held", "Placement violated",
		"PolicyEnforced unknown", "PolicyEnforced violated", "PressureLeaves held", "RecoversWithin held",
		"ReplacedWithin held", "ReplacedWithin violated", "ResizedInPlace held", "Spread held", "Spread unknown",
		"Spread violated", "SpreadTogether held", "SpreadTogether violated", "SpreadTrials held", "SpreadTrials unknown",
		"SpreadTrials violated",
		"drain 1 worker", "kill one worker", "outage of one zone",
	} {
		if !slices.Contains(found, want) {
			t.Errorf("no golden run has %q any more", want)
		}
	}
	if limit := int64(2 << 20); size > limit {
		t.Errorf("the golden runs take %d bytes: keep them below %d", size, limit)
	}
}
