package historytest_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history/historytest"
)

func TestWhatIsPackedIsUnpacked(t *testing.T) {
	dir := t.TempDir()
	if err := historytest.Healthy().Write(filepath.Join(dir, "record")); err != nil {
		t.Fatal(err)
	}
	packed, err := historytest.Pack(os.DirFS(filepath.Join(dir, "record")))
	if err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(dir, "record.tar.gz")
	if err := os.WriteFile(archive, packed, 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := historytest.Unpack(archive)
	if err != nil {
		t.Fatal(err)
	}
	again, err := historytest.Pack(files)
	if err != nil || !bytes.Equal(packed, again) {
		t.Errorf("packed again, %d bytes became %d, error %v", len(packed), len(again), err)
	}
	copied := filepath.Join(dir, "copied")
	if err := os.CopyFS(copied, files); err != nil {
		t.Fatal(err)
	}
	want, got := contents(t, filepath.Join(dir, "record")), contents(t, copied)
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 2 {
		t.Errorf("%d files (-packed +unpacked):\n%s", len(want), diff)
	}
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"*.*", "*/*"} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all[strings.TrimPrefix(name, dir)] = string(data)
		}
	}
	return all
}

func TestUnpackWhatIsNoArchive(t *testing.T) {
	packed, err := historytest.Pack(fstest.MapFS{"events.jsonl": {Data: []byte(strings.Repeat("some lines\n", 100))}})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"empty": nil, "other": []byte("hello"), "cut": packed[:len(packed)/2]} {
		archive := filepath.Join(t.TempDir(), "a.tar.gz")
		if err := os.WriteFile(archive, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := historytest.Unpack(archive); err == nil || !strings.Contains(err.Error(), "unpack "+archive) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := historytest.Unpack(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("no error where there is no archive")
	}
}
