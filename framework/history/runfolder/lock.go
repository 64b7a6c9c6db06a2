package runfolder

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

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
