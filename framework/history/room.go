package history

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// roomFile keeps room on a run's disk, so that a disk which fills up while the run records has room for what is known by then.
const roomFile = ".room"

// roomBytes are enough for run.json and the reports of a run of all scenarios.
const roomBytes = 4 << 20

// ReserveRoom keeps room in a run's folder, which is made if need be, for what is written last. An error says that there is
// none, before anything is begun.
func ReserveRoom(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("keep room for the report: %w", err)
	}
	name := filepath.Join(dir, roomFile)
	file, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("keep room for the report: %w", err)
	}
	_, err = io.CopyN(file, rand.Reader, roomBytes) // what compresses to nothing keeps no room
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(fmt.Errorf("keep %d MiB of room for the report: %w: make room, or choose another disk with --artifacts", roomBytes>>20, err),
			os.Remove(name))
	}
	return nil
}

// FreeRoom gives the room back. It is called before what is written last. Calling it again does nothing.
func FreeRoom(dir string) error {
	err := os.Remove(filepath.Join(dir, roomFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
