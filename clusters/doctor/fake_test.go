package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ha/holdfast/clusters/engine"
)

// laptop is a healthy machine: cgroup v2, a user other than root, and docker.
func laptop(t *testing.T) (*machine, *fakeEngine) {
	t.Helper()
	m, e := newMachine(t, map[string]string{
		"/sys/fs/cgroup/cgroup.controllers": "cpuset cpu io memory hugetlb pids rdma misc",
		"/sys/fs/cgroup/memory.max":         "max",
		"/proc/self/cgroup":                 "0::/user.slice",
		"/proc/self/status":                 "Name:\tholdfast\nCapEff:\t0000000000000000",
		"/proc/sys/kernel/pid_max":          "4194304",
		instancesPath:                       "1024",
		watchesPath:                         "524288",
		"/lib/modules/6.8.0/modules.dep":    "",
		"/proc/filesystems":                 "nodev\tproc\nnodev\toverlay",
		"/proc/meminfo":                     "MemTotal: 16000000 kB\nMemAvailable:   12582912 kB",
		"/var/lib/docker/image":             "",
	})
	m.uid = 1000
	e.name, e.version, e.driver, e.storage = engine.Docker, "28.2.2", "overlay2", "/var/lib/docker"
	return m, e
}

// hybrid is a minimal machine: root without sys_resource, hybrid cgroups, no netem, and podman.
func hybrid(t *testing.T) (*machine, *fakeEngine) {
	t.Helper()
	m, e := newMachine(t, map[string]string{
		"/sys/fs/cgroup/cpu/cgroup.procs":             "1",
		"/sys/fs/cgroup/cpuset/cgroup.procs":          "1",
		"/sys/fs/cgroup/pids/cgroup.procs":            "1",
		"/sys/fs/cgroup/unified/cgroup.procs":         "1",
		"/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
		"/sys/fs/cgroup/memory/memory.usage_in_bytes": "1000000",
		"/proc/self/cgroup":                           "4:memory:/\n0::/",
		"/proc/self/status":                           "CapEff:\t000001fffeffffff",
		"/proc/sys/kernel/pid_max":                    "32768",
		instancesPath:                                 "128",
		watchesPath:                                   "192536",
		"/proc/filesystems":                           "nodev\tproc\nnodev\toverlay",
		"/proc/meminfo":                               "MemAvailable:   23705000 kB",
		"/var/lib/containers/storage/overlay/l":       "",
	})
	e.name, e.version, e.driver, e.storage = engine.Podman, "4.3.1", "overlay", "/var/lib/containers/storage"
	e.refusals = []engine.Refusal{{Engine: engine.Docker, Reason: "its daemon does not answer: is it running?"}}
	m.refuse("tc", errors.New("tc: Specified qdisc kind is unknown"))
	return m, e
}

// newMachine has the given files, and an engine whose fields the caller sets.
func newMachine(t *testing.T, files map[string]string) (*machine, *fakeEngine) {
	t.Helper()
	e := &fakeEngine{}
	m := &machine{
		root: t.TempDir(),
		hardLimit: func(resource int) uint64 {
			return map[int]uint64{unix.RLIMIT_NOFILE: 20000, unix.RLIMIT_NPROC: 96365}[resource]
		},
		freeBytes: func(string) (uint64, error) { return 60 << 30, nil },
		write:     func(path string, content []byte) error { return os.WriteFile(path, content, 0o600) },
		isolated:  func(context.Context, string, ...string) error { return nil },
		find:      func(context.Context, engine.Options) (containerEngine, error) { return e, nil },
		system:    "linux",
	}
	for path, content := range files {
		m.put(t, path, content)
	}
	return m, e
}

func (m *machine) put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(m.path(path)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(m.path(path), []byte(content+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(m.path(path)); err != nil {
		t.Fatal(err)
	}
}

// refuse makes isolated commands with this prefix return an error.
func (m *machine) refuse(start string, err error) {
	others := m.isolated
	m.isolated = func(ctx context.Context, stdin string, command ...string) error {
		if strings.HasPrefix(strings.Join(command, " "), start) {
			return err
		}
		return others(ctx, stdin, command...)
	}
}

// lose makes the search for an engine return an error.
func (m *machine) lose(err error) {
	m.find = func(context.Context, engine.Options) (containerEngine, error) { return nil, err }
}

type fakeEngine struct {
	name, version, driver, storage string
	refusals                       []engine.Refusal
	lists                          map[string]string // output of a command, by the prefix of the command
	err                            error
	elsewhere                      bool
}

func (e *fakeEngine) Name() string               { return e.name }
func (e *fakeEngine) Version() string            { return e.version }
func (e *fakeEngine) Runtime() string            { return "runc" }
func (e *fakeEngine) StorageDriver() string      { return e.driver }
func (e *fakeEngine) StorageDir() string         { return e.storage }
func (e *fakeEngine) Refusals() []engine.Refusal { return e.refusals }

func (e *fakeEngine) Elsewhere() bool { return e.elsewhere }

func (e *fakeEngine) Output(_ context.Context, args ...string) ([]byte, error) {
	line := strings.Join(args, " ")
	for start, text := range e.lists {
		if strings.HasPrefix(line, start) {
			return []byte(text), e.err
		}
	}
	return nil, e.err
}
