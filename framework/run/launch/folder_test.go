package launch

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestRunsOfOneSecondGetFoldersOfTheirOwn(t *testing.T) {
	artifacts, now := filepath.Join(t.TempDir(), "artifacts"), time.Date(2026, 11, 21, 11, 23, 59, 0, time.UTC)
	for _, want := range []string{"20261121-112359", "20261121-112359-2", "20261121-112359-3"} {
		id, err := claimFolder(artifacts, now)
		if err != nil || id != want {
			t.Errorf("got %q, %v; want %q", id, err, want)
		}
		if info, err := os.Stat(filepath.Join(artifacts, want)); err != nil || !info.IsDir() {
			t.Errorf("%s is no folder: %v", want, err)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if id, err := claimFolder(file, now); err == nil {
		t.Errorf("a folder in a file: %q", id)
	}
}
