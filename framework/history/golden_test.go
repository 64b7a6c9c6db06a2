package history

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history/historytest/keeps"
)

// goldenRun is a run that holdfast wrote when format 1 was new; its record contains every field of every event. It is never
// regenerated, because old runs must stay readable.
const (
	goldenRun = "testdata/format1"
	golden    = goldenRun + "/chaos/drain-one-worker"
)

func TestOldEventsLoseNothing(t *testing.T) {
	run, err := Open(golden)
	must(t, err)
	if run.Incomplete != "" {
		t.Errorf("incomplete: %s", run.Incomplete)
	}
	data, err := os.ReadFile(filepath.Join(golden, EventsFile))
	must(t, err)
	lines := slices.Collect(bytes.Lines(data)) // sorted by T
	if len(lines) != len(run.Events) {
		t.Fatalf("%d lines gave %d events", len(lines), len(run.Events))
	}
	for i, line := range lines {
		read, err := json.Marshal(run.Events[i])
		must(t, err)
		keeps.All(t, line, read)
	}
}

func TestOldRequestsLoseNothing(t *testing.T) {
	run, err := Open(golden)
	must(t, err)
	requests, err := collect(run.Requests)
	must(t, err)
	var written []map[string]string
	for _, name := range []string{"worker-0-00000.csv", "worker-0-00001.csv"} {
		data, err := os.ReadFile(filepath.Join(golden, RequestsFolder, name))
		must(t, err)
		written = append(written, records(t, data)...)
	}
	read := records(t, encode(requests...))
	for i := range min(len(read), len(written)) {
		for name := range read[i] {
			if _, ok := written[i][name]; !ok {
				delete(read[i], name)
			}
		}
	}
	if diff := cmp.Diff(written, read); diff != "" || len(read) != 5 {
		t.Errorf("%d requests (-written +read):\n%s", len(read), diff)
	}
}

// records reads requests with a general-purpose CSV reader.
func records(t *testing.T, data []byte) []map[string]string {
	t.Helper()
	rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	must(t, err)
	var all []map[string]string
	for _, row := range rows[1:] {
		record := make(map[string]string)
		for i, name := range rows[0] {
			record[name] = row[i]
		}
		all = append(all, record)
	}
	return all
}

// TestOldValues checks some values under their own names, in case two fields were swapped in writing and reading alike.
func TestOldValues(t *testing.T) {
	run, err := Open(golden)
	must(t, err)
	if h := run.Header; h.Seed != 7 || h.Scenario != "chaos/drain-one-worker" || !h.Base.Equal(testBase) ||
		h.Cluster.Timings.NodeMonitorGrace.Seconds() != 4 || h.Promises[0].Kind != "NoFailedRequests" ||
		h.Mutant.Twin != "chaos/drain" || h.Plan.Lanes[0].RatePerSecond != 200 {
		t.Errorf("header %+v", h)
	}
	requests, err := collect(run.Requests)
	must(t, err)
	if diff := cmp.Diff(fullRequest(), requests[3]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
