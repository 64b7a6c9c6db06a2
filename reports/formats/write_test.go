package formats

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/reports/reporttest"
)

func TestWriteAll(t *testing.T) {
	dir, file := reporttest.StoredRun(t)
	reporttest.Build(t, dir, file)
	if err := os.WriteFile(filepath.Join(dir, MarkdownFile), []byte("of yesterday"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := WriteAll(dir); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if diff := cmp.Diff([]string{"chaos", JUnitFile, HTMLFile, JSONFile, MarkdownFile, "run.json"}, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	md, err := os.ReadFile(filepath.Join(dir, MarkdownFile))
	if err != nil || !strings.HasPrefix(string(md), "## ✅ Held: holdfast run `20260102-030405-test`\n") {
		t.Errorf("%s %v", md, err)
	}
}

func TestWriteAllReportsEveryFailure(t *testing.T) {
	dir, file := reporttest.StoredRun(t)
	reporttest.Build(t, dir, file)
	for _, name := range []string{JSONFile, MarkdownFile} { // a folder in its place cannot be replaced
		if err := os.MkdirAll(filepath.Join(dir, name, "x"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	err := WriteAll(dir)
	if err == nil || !strings.Contains(err.Error(), "write report.json: ") || !strings.Contains(err.Error(), "write report.md: ") {
		t.Errorf("%v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.tmp")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := os.Stat(filepath.Join(dir, HTMLFile)); err != nil {
		t.Error(err)
	}
}
