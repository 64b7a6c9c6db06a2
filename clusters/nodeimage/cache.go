package nodeimage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Cache is a folder with one subfolder for each finished entry. An entry that exists is complete: it was made under a
// temporary name and then renamed. Only the holder of the lock makes entries.
type Cache struct {
	dir  string
	lock *os.File
}

const (
	lockName   = "lock"
	tempPrefix = "tmp-"
	lockRetry  = 500 * time.Millisecond
)

// openCache takes the lock, waits for another build if necessary, and removes what killed builds left behind. The kernel
// releases the lock when its process ends, even after a kill.
func openCache(ctx context.Context, dir string, waiting func()) (*Cache, error) {
	if err := os.MkdirAll(filepath.Join(dir, "log"), 0o755); err != nil {
		return nil, fmt.Errorf("make the cache folder: %w; set HOLDFAST_CACHE to a folder that can be written", err)
	}
	file, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock the cache: %w", err)
	}
	if err := waitForLock(ctx, file, waiting); err != nil {
		return nil, errors.Join(fmt.Errorf("lock the cache %s: %w", dir, err), file.Close())
	}
	c := &Cache{dir: dir, lock: file}
	c.sweep()
	return c, nil
}

func waitForLock(ctx context.Context, file *os.File, waiting func()) error {
	tick := time.NewTicker(lockRetry)
	defer tick.Stop()
	for first := true; ; first = false {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil || !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		if first {
			waiting()
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// Close releases the lock.
func (c *Cache) Close() error { return c.lock.Close() }

// sweep removes unfinished entries. No other build works on them, since this process holds the lock; but programs that a
// killed build started may run on for a moment. What cannot be removed only takes space, and the next build tries again.
func (c *Cache) sweep() {
	left, err := filepath.Glob(filepath.Join(c.dir, tempPrefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range left {
		_ = os.RemoveAll(dir)
	}
}

// Temp returns a new folder for one build; the caller removes it with os.RemoveAll.
func (c *Cache) Temp() (string, error) {
	dir, err := os.MkdirTemp(c.dir, tempPrefix)
	if err != nil {
		return "", fmt.Errorf("make a folder in the cache: %w", err)
	}
	return dir, nil
}

// Entry returns the folder of a finished entry. If the entry does not exist, fill makes it: fill writes the content of the
// entry into keep, and may use work for everything else.
func (c *Cache) Entry(name string, fill func(keep, work string) error) (dir string, cached bool, err error) {
	dir = filepath.Join(c.dir, name)
	if _, err := os.Stat(dir); err == nil {
		return dir, true, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", false, fmt.Errorf("look into the cache: %w", err)
	}
	temp, err := c.Temp()
	if err != nil {
		return "", false, err
	}
	defer os.RemoveAll(temp) //nolint:errcheck // the next build removes leftovers
	keep, work := filepath.Join(temp, "keep"), filepath.Join(temp, "work")
	for _, made := range []string{keep, work} {
		if err := os.Mkdir(made, 0o755); err != nil {
			return "", false, err
		}
	}
	if err := fill(keep, work); err != nil {
		return "", false, err
	}
	return dir, false, os.Rename(keep, dir)
}

// Log opens a file for what the programs of one step print. It replaces the file of the last build.
func (c *Cache) Log(name string) (*os.File, error) {
	return os.Create(filepath.Join(c.dir, "log", name+".log"))
}

// clearCache removes everything that builds have kept.
func clearCache(ctx context.Context, dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	c, err := openCache(ctx, dir, func() {})
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	errs := []error{err}
	for _, entry := range entries {
		if entry.Name() != lockName { // a process that waits for the lock waits for this very file
			errs = append(errs, os.RemoveAll(filepath.Join(dir, entry.Name())))
		}
	}
	return errors.Join(append(errs, c.Close())...)
}
