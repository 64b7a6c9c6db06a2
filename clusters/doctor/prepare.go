package doctor

import (
	"context"
	"fmt"
	"os"
	"strconv"
)

// The settings that Prepare changes, and what it raises them to. A node takes some 16 instances and 200 watches, the
// kernel's default is 128 instances, and several clusters may run side by side. A raised limit costs nothing unused.
const (
	instancesPath = "/proc/sys/fs/inotify/max_user_instances"
	watchesPath   = "/proc/sys/fs/inotify/max_user_watches"
	modulesPath   = "/lib/modules"

	wantInstances = 8192
	wantWatches   = 524288
)

// inotifyRemedy is what Prepare does, as a command.
var inotifyRemedy = fmt.Sprintf("sudo sysctl -w fs.inotify.max_user_instances=%d fs.inotify.max_user_watches=%d",
	wantInstances, wantWatches)

// Prepare mends what root may mend, for as long as the machine runs: it raises the inotify limits to 8192 instances and
// 524288 watches where they are lower, and creates /lib/modules, which kind mounts into its nodes. Where the limits are
// read-only, as in some containers, they stay, and that is no error: Examine says whether they suffice. Without root it
// does nothing.
func Prepare(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("prepare this machine: %w", context.Cause(ctx))
	}
	return thisMachine().prepare()
}

func (m *machine) prepare() error {
	m.prepared = map[string]string{}
	if m.uid != 0 {
		return nil
	}
	m.raise(instancesPath, wantInstances)
	m.raise(watchesPath, wantWatches)
	if m.exists(modulesPath) {
		return nil
	}
	if err := os.MkdirAll(m.path(modulesPath), 0o755); err != nil {
		return fmt.Errorf("create %s for kind to mount: %w", modulesPath, err)
	}
	m.prepared[modulesPath] = "created"
	return nil
}

// raise writes a kernel setting unless it is high enough already.
func (m *machine) raise(path string, want uint64) {
	now, ok := m.number(path)
	if !ok || now >= want {
		return
	}
	if err := m.write(m.path(path), []byte(strconv.FormatUint(want, 10)+"\n")); err != nil {
		m.prepared[path] = fmt.Sprintf("cannot be raised: %v", err)
		return
	}
	m.prepared[path] = fmt.Sprintf("raised from %d until the next boot", now)
}

// note is what Prepare did to a path, in brackets, to follow what was found.
func (m *machine) note(path string) string {
	if did := m.prepared[path]; did != "" {
		return " (" + did + ")"
	}
	return ""
}
