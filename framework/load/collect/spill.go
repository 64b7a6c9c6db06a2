package collect

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
)

// Spill is a folder for segments that memory has no room for, while the harness does not collect as fast as rows are made, or not at
// all. Its files belong to one process, and are of no use to another.
type Spill struct {
	// Dir is the folder; empty: no segment goes to disk.
	Dir string
	// AboveBytes is how much of packed segments stays in memory; MaxBytes is how much the folder may hold.
	AboveBytes, MaxBytes int64
}

// DefaultSpillAbove is what a worker keeps in memory of packed segments before it spills: about a million rows.
const DefaultSpillAbove = 32 << 20

func (s Spill) validate() error {
	if s.Dir == "" {
		return nil
	}
	if s.AboveBytes < 0 || s.MaxBytes <= 0 {
		return fmt.Errorf("spill to %s: %d bytes at most, above %d in memory", s.Dir, s.MaxBytes, s.AboveBytes)
	}
	if info, err := os.Stat(s.Dir); err != nil || !info.IsDir() {
		return errors.Join(fmt.Errorf("spill to %s: it is no folder", s.Dir), err)
	}
	return nil
}

// write puts a segment into the folder, if there is one, memory has no room and the folder has. An empty file name means that it is not
// there: the segment stays in memory.
func (s Spill) write(n int, packed []byte, inMemory, inFiles int64) (file string, size int64) {
	size = int64(len(packed))
	if s.Dir == "" || inMemory+size <= s.AboveBytes || inFiles+size > s.MaxBytes {
		return "", 0
	}
	file = filepath.Join(s.Dir, strconv.Itoa(n)+".csv.gz")
	if err := os.WriteFile(file, packed, 0o600); err != nil {
		slog.Error("a segment stays in memory, because it could not be spilled", "error", err)
		s.remove(file)
		return "", 0
	}
	return file, size
}

// remove removes a file. If that fails, the folder has less room.
func (s Spill) remove(file string) {
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		slog.Error("remove a spilled segment", "error", err)
	}
}
