package doctor

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/clusters/nodeimage"
	"github.com/holdfast-ha/holdfast/clusters/nodeimage/registry"
)

// mac is a Mac without any of Linux's files, and the Linux machine beside it, where its engine runs containers. The engine runs holdfast there.
func mac(t *testing.T) (m *machine, e *fakeEngine, linux *machine) {
	t.Helper()
	m, e = newMachine(t, nil)
	m.system, m.uid = "darwin", 501
	m.isolated = func(context.Context, string, ...string) error { return errors.New("tried on the Mac") }
	m.freeBytes = func(path string) (uint64, error) { return 0, errors.New("asked the Mac for the space at " + path) }
	linux, _ = newMachine(t, map[string]string{
		"/sys/fs/cgroup/cgroup.controllers": "cpuset cpu io memory hugetlb pids rdma misc",
		"/proc/self/cgroup":                 "0::/",
		"/proc/sys/kernel/pid_max":          "4194304",
		instancesPath:                       "128",
		watchesPath:                         "524288",
		"/proc/filesystems":                 "nodev\tproc\nnodev\toverlay",
		"/proc/meminfo":                     "MemAvailable:   7340032 kB",
	})
	e.name, e.version, e.driver, e.storage, e.elsewhere = engine.Docker, "28.3.2", "overlayfs", "/var/lib/docker", true
	e.survey = func(nodes string) (string, error) {
		n, err := strconv.Atoi(nodes)
		if err != nil {
			return "", err
		}
		var said bytes.Buffer
		err = linux.survey(&said, n, e.name)
		return said.String(), err
	}
	return m, e, linux
}

// Each check of a machine that is not this one looks there, or says that it could not.
func TestElsewhereNotices(t *testing.T) {
	for name, test := range map[string]struct {
		change func(m *machine, e *fakeEngine, linux *machine)
		check  string
		status Status
		found  string
		remedy string
	}{
		"inotify limits that cannot be raised there": {
			change: func(_ *machine, _ *fakeEngine, linux *machine) {
				linux.put(t, instancesPath, "64")
				linux.write = func(string, []byte) error { return errors.New("read-only file system") }
			},
			check: "inotify", status: Fail, found: "64 instances (cannot be raised: read-only file system)",
		},
		"little memory there": {
			change: func(_ *machine, _ *fakeEngine, linux *machine) {
				linux.put(t, "/proc/meminfo", "MemAvailable: 500000 kB")
			},
			check: "memory", status: Fail, found: "0.5 GiB free", remedy: "available for 5 nodes",
		},
		"a small disk there": {
			change: func(_ *machine, _ *fakeEngine, linux *machine) {
				linux.freeBytes = func(string) (uint64, error) { return 1 << 30, nil }
			},
			check: "disk", status: Fail, found: "1.0 GiB free at /", remedy: "try docker system prune",
		},
		"a container that does not run": {
			change: func(_ *machine, e *fakeEngine, _ *machine) {
				e.survey = func(string) (string, error) { return "", errors.New("no such runtime") }
			},
			check: "machine", status: Fail, found: "look at the machine that nodes run on: no such runtime", remedy: "privileged",
		},
		"a program that says something else": {
			change: func(_ *machine, e *fakeEngine, _ *machine) {
				e.survey = func(string) (string, error) { return "hello", nil }
			},
			check: "machine", status: Fail, found: "read what holdfast says", remedy: "privileged",
		},
		"no node image yet": {
			change: func(m *machine, _ *fakeEngine, _ *machine) {
				m.foresee = func(context.Context, registry.Asker, string, nodeimage.Options) (nodeimage.Forecast, error) {
					return nodeimage.Forecast{Kubernetes: "v1.37.1", PullBytes: 400e6}, nil
				}
			},
			check: "nftables", status: Warn, found: "not tried: nft is in the node image, and the engine has no node image yet", remedy: "after the first cluster",
		},
		"no engine": {
			change: func(m *machine, _ *fakeEngine, _ *machine) { m.lose(errors.New("none")) },
			check:  "machine", status: Warn, found: "unknown without an engine",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, e, linux := mac(t)
			test.change(m, e, linux)
			report := m.examine(t.Context(), Options{CacheDir: "/cache"})
			for _, c := range report.Checks {
				if strings.Contains(c.Found, "the Mac") {
					t.Errorf("%s looks at the Mac: %s", c.Name, c.Found)
				}
				if c.Name != test.check {
					continue
				}
				if c.Status != test.status || !strings.Contains(c.Found, test.found) || !strings.Contains(c.Remedy, test.remedy) {
					t.Errorf("%+v, want %s, %q and %q", c, test.status, test.found, test.remedy)
				}
				return
			}
			t.Errorf("no check %s in %+v", test.check, report.Checks)
		})
	}
}

// What nodes need is raised where they run.
func TestPrepareElsewhere(t *testing.T) {
	_, e, linux := mac(t)
	if err := Prepare(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if n, _ := linux.number(instancesPath); n != wantInstances {
		t.Errorf("%d inotify instances there, want %d", n, wantInstances)
	}
}

// A registry that does not answer costs seconds, and is asked once.
func TestTheForecastIsAskedOnce(t *testing.T) {
	m, _, _ := mac(t)
	foresee, asked := m.foresee, 0
	m.foresee = func(ctx context.Context, e registry.Asker, version string, o nodeimage.Options) (nodeimage.Forecast, error) {
		asked++
		return foresee(ctx, e, version, o)
	}
	m.examine(t.Context(), Options{CacheDir: "/cache"})
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}
