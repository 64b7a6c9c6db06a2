package reporttest

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/reports"
)

// Written is what a format makes of a report.
func Written(t *testing.T, write func(io.Writer, reports.Report) error, m reports.Report) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Golden compares what was written with the file of that name in testdata.
func Golden(t *testing.T, name string, got []byte) {
	t.Helper()
	golden := filepath.Join("testdata", name)
	if *Update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got), rewrite with -update:\n%s", name, diff)
	}
}

// Update is whether golden files are written instead of compared.
var Update = flag.Bool("update", false, "write the golden files instead of comparing with them")
