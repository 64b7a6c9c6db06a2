package history

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(dir, name string) ([]byte, error) {
	f, err := openPacked(os.DirFS(dir), name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(f)
	return data, errors.Join(err, f.Close())
}

func TestAPackedFileReadsAsItWas(t *testing.T) {
	dir := t.TempDir()
	want := bytes.Repeat([]byte("worker-0,fresh,1,2,3\n"), 100_000)
	name := filepath.Join(dir, "a.csv")
	write(t, name, want)
	if got, err := read(dir, "a.csv"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("before: %d bytes, %v", len(got), err)
	}
	if err := packFile(name); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
	info, err := os.Stat(name + packedSuffix)
	if err != nil || info.Size() > int64(len(want))/100 {
		t.Errorf("%v %v", info, err)
	}
	if got, err := read(dir, "a.csv"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("after: %d bytes, %v", len(got), err)
	}
	if size, err := packedSize(os.DirFS(dir), "a.csv"); size != -1 || err != nil {
		t.Errorf("%d, %v", size, err)
	}
}

// TestABombIsNotUnpacked: what unpacks to far more than a record does is an error, long before it takes this machine's memory.
func TestABombIsNotUnpacked(t *testing.T) {
	for name, line := range map[string]string{"zeros": "\x00\x00\x00\x00", "lines": "{}\n\n", "one long line": "aaaa"} {
		dir := t.TempDir()
		file := filepath.Join(dir, "a.csv")
		write(t, file, bytes.Repeat([]byte(line), 32<<20))
		if err := packFile(file); err != nil {
			t.Fatal(err)
		}
		got, err := read(dir, "a.csv")
		if err == nil || len(got) > 64<<20 {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}

// TestWhatAKillLeavesBehind: a part of a compressed file is nobody's, and is written again.
func TestWhatAKillLeavesBehind(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.csv")
	write(t, name, []byte("whole"))
	write(t, name+".zst.part", []byte("half"))
	if got, err := read(dir, "a.csv"); err != nil || string(got) != "whole" {
		t.Errorf("%q, %v", got, err)
	}
	if _, ok := unpackedName("a.csv.zst.part"); ok {
		t.Error("a part has a name")
	}
	if err := packFile(name); err != nil {
		t.Fatal(err)
	}
	if got, err := read(dir, "a.csv"); err != nil || string(got) != "whole" {
		t.Errorf("%q, %v", got, err)
	}
	write(t, name, []byte("whole")) // killed before the file was removed
	if got, err := read(dir, "a.csv"); err != nil || string(got) != "whole" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestDamageIsAnError(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.csv")
	write(t, name, bytes.Repeat([]byte("0123456789 abc\n"), 10_000))
	if err := packFile(name); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(name + packedSuffix)
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		write(t, name+packedSuffix, whole[:i])
		if got, err := read(dir, "a.csv"); err == nil {
			t.Fatalf("cut off at %d of %d: %d bytes", i, len(whole), len(got))
		}
	}
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 1
	write(t, name+packedSuffix, flipped)
	if got, err := read(dir, "a.csv"); err == nil {
		t.Errorf("a flipped bit: %d bytes", len(got))
	}
	if _, err := read(dir, "missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if err := packFile(filepath.Join(dir, "missing")); err == nil {
		t.Error("a file that is not there is packed")
	}
}
