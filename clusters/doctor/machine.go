package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ha/holdfast/clusters/engine"
)

// machine is what is examined. Tests give it another root folder and other answers.
type machine struct {
	root string // the folder that stands for /
	uid  int
	// hardLimit of a resource of this process, such as unix.RLIMIT_NOFILE.
	hardLimit func(resource int) uint64
	// freeBytes are what a folder's file system has left for us.
	freeBytes func(path string) (uint64, error)
	write     func(path string, content []byte) error
	// isolated runs a program in a network namespace of its own, which ends with it.
	isolated func(ctx context.Context, stdin string, command ...string) error
	find     func(ctx context.Context, o engine.Options) (containerEngine, error)
	// prepared says, by path, what Prepare did.
	prepared map[string]string
}

func thisMachine() *machine {
	return &machine{
		root: "/",
		uid:  os.Geteuid(),
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

// text of a file without the space around it; empty if it cannot be read.
func (m *machine) text(path string) string {
	content, _ := os.ReadFile(m.path(path))
	return string(bytes.TrimSpace(content))
}

// number in a file of /proc or /sys. "max" is a cgroup's word for no limit.
func (m *machine) number(path string) (value uint64, ok bool) {
	text := m.text(path)
	if text == "max" {
		return unix.RLIM_INFINITY, true
	}
	value, err := strconv.ParseUint(text, 10, 64)
	return value, err == nil
}

// field of a file of lines such as "MemAvailable:   23705 kB": what follows the key.
func (m *machine) field(path, key string) string {
	for _, line := range strings.Split(m.text(path), "\n") {
		if value, ok := strings.CutPrefix(line, key+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// freeBytes of the file system on which a folder lies or, as it may not exist yet, would lie.
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

// gib are bytes as people read them.
func gib(size uint64) string { return fmt.Sprintf("%.1f GiB", float64(size)/(1<<30)) }
