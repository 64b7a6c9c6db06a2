package doctor

import (
	"context"
	"fmt"
	"os"
	"strconv"
)

// The settings that Prepare changes, and their new values. A node uses some 16 inotify instances and 200 watches, the kernel's
// default is 128 instances, and several clusters may run on one machine. A higher limit costs nothing while it is not used.
const (
	instancesPath = "/proc/sys/fs/inotify/max_user_instances"
	watchesPath   = "/proc/sys/fs/inotify/max_user_watches"
	modulesPath   = "/lib/modules"

	wantInstances = 8192
	wantWatches   = 524288
)

// inotifyRemedy is the command that changes the inotify limits as Prepare does.
var inotifyRemedy = fmt.Sprintf("sudo sysctl -w fs.inotify.max_user_instances=%d fs.inotify.max_user_watches=%d",
	wantInstances, wantWatches)

// Prepare changes settings of this machine, if it runs as root: it raises the inotify limits to 8192 instances and 524288
// watches if they are lower, which lasts until the next boot, and it creates /lib/modules, which kind mounts into its nodes. If
// the limits are read-only, as in some containers, they do not change and Prepare returns no error: Examine reports whether
// they suffice. Without root Prepare does nothing.
//
// Where the engine runs nodes on another machine, such as that of Docker Desktop, Prepare does nothing.
func Prepare(ctx context.Context, e interface{ Elsewhere() bool }) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("prepare this machine: %w", context.Cause(ctx))
	}
	if e.Elsewhere() {
		return nil
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

// raise writes a kernel setting unless it is already high enough.
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

// note is what Prepare did to a path, in parentheses, to be appended to a finding.
func (m *machine) note(path string) string {
	if did := m.prepared[path]; did != "" {
		return " (" + did + ")"
	}
	return ""
}
