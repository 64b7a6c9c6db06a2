package runfolder

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// roomFile reserves space on a run's disk, so that if the disk fills up during the run, the results can still be written.
const roomFile = ".room"

// roomBytes is enough for run.json and the reports of a run of all scenarios.
const roomBytes = 4 << 20

// ReserveRoom reserves space in a run's folder, which it creates if necessary, for the files that are written last. It
// returns an error if there is not enough space, before the run starts.
func ReserveRoom(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("keep room for the report: %w", err)
	}
	name := filepath.Join(dir, roomFile)
	file, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("keep room for the report: %w", err)
	}
	_, err = io.CopyN(file, rand.Reader, roomBytes) // random bytes, because a compressing file system reserves no space for compressible data
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(fmt.Errorf("keep %d MiB of room for the report: %w: make room, or choose another disk with --artifacts", roomBytes>>20, err),
			os.Remove(name))
	}
	return nil
}

// FreeRoom frees the reserved space. Call it before writing the last files. Calling it again does nothing.
func FreeRoom(dir string) error {
	err := os.Remove(filepath.Join(dir, roomFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// ErrLocked means that another process writes to a run's folder.
var ErrLocked = errors.New("another process is running it")

// Lock makes this process the only one that writes to a run's folder, until the lock is closed. It ends with the process, however that ends. A file
// system without locks has no such protection.
func Lock(dir string) (io.Closer, error) {
	folder, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(folder.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		return nil, errors.Join(ErrLocked, folder.Close())
	}
	return folder, nil
}
