package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ha/holdfast/clusters/engine"
)

// machine is the machine to examine. Tests replace its root folder and functions.
type machine struct {
	root string // root folder, "/" outside tests
	uid  int
	// hardLimit is the hard limit of a resource of this process, such as unix.RLIMIT_NOFILE.
	hardLimit func(resource int) uint64
	// freeBytes is the space in a folder's file system that is available to this process.
	freeBytes func(path string) (uint64, error)
	write     func(path string, content []byte) error
	// isolated runs a program in a new network namespace.
	isolated func(ctx context.Context, stdin string, command ...string) error
	system   string // runtime.GOOS
	find     func(ctx context.Context, o engine.Options) (containerEngine, error)
	// prepared describes what Prepare did, by path.
	prepared map[string]string
}

func thisMachine() *machine {
	return &machine{
		root:   "/",
		uid:    os.Geteuid(),
		system: runtime.GOOS,
		hardLimit: func(resource int) uint64 {
			var limit unix.Rlimit
			if err := unix.Getrlimit(resource, &limit); err != nil {
				return unix.RLIM_INFINITY
			}
			return limit.Max
		},
		freeBytes: freeBytes,
		write:     func(path string, content []byte) error { return os.WriteFile(path, content, 0o644) },
		isolated:  isolated,
		find: func(ctx context.Context, o engine.Options) (containerEngine, error) {
			found, err := engine.Find(ctx, o)
			if err != nil {
				return nil, err
			}
			return found, nil
		},
	}
}

func (m *machine) path(path string) string { return filepath.Join(m.root, path) }

func (m *machine) exists(path string) bool {
	_, err := os.Stat(m.path(path))
	return err == nil
}

// text is the content of a file without surrounding white space. It is empty if the file cannot be read.
func (m *machine) text(path string) string {
	content, _ := os.ReadFile(m.path(path))
	return string(bytes.TrimSpace(content))
}

// number parses the number in a file of /proc or /sys. "max" means no limit in cgroup files.
func (m *machine) number(path string) (value uint64, ok bool) {
	text := m.text(path)
	if text == "max" {
		return unix.RLIM_INFINITY, true
	}
	value, err := strconv.ParseUint(text, 10, 64)
	return value, err == nil
}

// field is the value of a key in a file with lines such as "MemAvailable:   23705 kB".
func (m *machine) field(path, key string) string {
	for _, line := range strings.Split(m.text(path), "\n") {
		if value, ok := strings.CutPrefix(line, key+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// freeBytes is the available space in the file system of a folder, or of its nearest existing parent.
func freeBytes(path string) (uint64, error) {
	for {
		var stat unix.Statfs_t
		err := unix.Statfs(path, &stat)
		if err == nil {
			return stat.Bavail * uint64(stat.Bsize), nil
		}
		parent := filepath.Dir(path)
		if !errors.Is(err, fs.ErrNotExist) || parent == path {
			return 0, fmt.Errorf("ask for the space below %s: %w", path, err)
		}
		path = parent
	}
}

// gib formats bytes as GiB.
func gib(size uint64) string { return fmt.Sprintf("%.1f GiB", float64(size)/(1<<30)) }
