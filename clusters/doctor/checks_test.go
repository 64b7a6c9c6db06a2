package doctor

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ha/holdfast/clusters/engine"
)

// Each test breaks one thing on a healthy machine, and one check must notice it.
func TestChecksNotice(t *testing.T) {
	type changed struct {
		m *machine
		e *fakeEngine
	}
	tests := map[string]struct {
		change func(t *testing.T, c changed)
		check  string
		status Status
		found  string
		remedy string
	}{
		"no engine, for another reason than its absence": {
			change: func(_ *testing.T, c changed) { c.m.lose(errors.New("make the cache folder: read-only")) },
			check:  "engine", status: Fail, found: "make the cache folder: read-only",
		},
		"slow storage": {
			change: func(_ *testing.T, c changed) { c.e.driver = "vfs" },
			check:  "engine", status: Warn, found: "copies the whole image for every node", remedy: "ext4",
		},
		"containers on another machine": {
			change: func(_ *testing.T, c changed) { c.e.elsewhere = true },
			check:  "machine", status: Warn, found: "not checked", remedy: "holdfast doctor",
		},
		"a Mac": {
			change: func(_ *testing.T, c changed) { c.m.system = "darwin" },
			check:  "machine", status: Warn, found: "not checked", remedy: "holdfast doctor",
		},
		"no node image": {
			change: func(*testing.T, changed) {},
			check:  "first run", status: OK, found: "12 to 26 minutes", remedy: "holdfast image load",
		},
		"a node image": {
			change: func(_ *testing.T, c changed) {
				c.e.lists = map[string]string{"image inspect localhost/holdfast/node": `[{"Id":"a"}]`}
			},
			check: "first run", status: OK, found: "about a minute: its node image is here (localhost/holdfast/node:",
		},
		"no cgroups": {
			change: func(t *testing.T, c changed) { c.m.remove(t, "/sys/fs/cgroup") },
			check:  "cgroups", status: Fail, found: "not mounted", remedy: "is mounted",
		},
		"no memory controller": {
			change: func(t *testing.T, c changed) {
				c.m.put(t, "/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io pids")
			},
			check: "cgroups", status: Fail, found: "version 2; no controller for memory", remedy: "cgroup_enable=memory",
		},
		"podman without the right to mount": {
			change: func(t *testing.T, c changed) {
				c.e.name, c.m.uid = engine.Podman, 0
				c.m.put(t, "/proc/self/status", "CapEff:\t00000000a80425fb")
			},
			check: "capabilities", status: Fail, found: "sys_admin or net_admin is missing", remedy: "--privileged",
		},
		"few open files": {
			change: func(_ *testing.T, c changed) { c.m.hardLimit = func(int) uint64 { return 1024 } },
			check:  "limits", status: Warn, found: "open files 1024", remedy: "ulimit -Hn 4096",
		},
		"few processes": {
			change: func(t *testing.T, c changed) {
				c.m.hardLimit = func(int) uint64 { return unix.RLIM_INFINITY }
				c.m.put(t, "/proc/sys/kernel/pid_max", "2000")
			},
			check: "limits", status: Warn, found: "processes unlimited, kernel.pid_max 2000", remedy: "kernel.pid_max=4194304",
		},
		"few inotify instances": {
			change: func(t *testing.T, c changed) { c.m.put(t, instancesPath, "64") },
			check:  "inotify", status: Fail, found: "64 instances, 524288 watches; 5 nodes take about 96 and 2500",
			remedy: "sudo sysctl -w fs.inotify.max_user_instances=8192 fs.inotify.max_user_watches=524288",
		},
		"no modules folder, podman": {
			change: func(t *testing.T, c changed) { c.e.name = engine.Podman; c.m.remove(t, modulesPath) },
			check:  modulesPath, status: Fail, found: "missing", remedy: "sudo mkdir -p /lib/modules",
		},
		"no overlay": {
			change: func(t *testing.T, c changed) { c.m.put(t, "/proc/filesystems", "nodev\tproc\n\text4") },
			check:  "overlayfs", status: Warn, found: "not in the kernel", remedy: "modprobe overlay",
		},
		"no bridge": {
			change: func(_ *testing.T, c changed) {
				c.m.refuse("ip link add name hf0 type bridge", errors.New("ip: Unknown device type"))
			},
			check: "bridge", status: Fail, found: "no bridge in this kernel: ip: Unknown device type", remedy: "modprobe bridge",
		},
		"no nftables": {
			change: func(_ *testing.T, c changed) { c.m.refuse("nft", errors.New("nft: Operation not supported")) },
			check:  "nftables", status: Fail, found: "this kernel refuses rules that Services need: nft: Operation not supported",
			remedy: "nf_tables",
		},
		"no netem": {
			change: func(_ *testing.T, c changed) { c.m.refuse("tc", errors.New("tc: Specified qdisc kind is unknown")) },
			check:  "netem", status: Warn, found: "added latency is not supported by this kernel: tc: Specified", remedy: "sch_netem",
		},
		"too little memory": {
			change: func(t *testing.T, c changed) { c.m.put(t, "/proc/meminfo", "MemAvailable: 1048576 kB") },
			check:  "memory", status: Fail, found: "1.0 GiB free", remedy: "make 1.4 GiB available for 5 nodes, or create fewer nodes",
		},
		"little memory": {
			change: func(t *testing.T, c changed) { c.m.put(t, "/proc/meminfo", "MemAvailable: 1572864 kB") },
			check:  "memory", status: Warn, found: "1.5 GiB free", remedy: "make 1.9 GiB available for 5 nodes under load",
		},
		"a limit on memory further up": {
			change: func(t *testing.T, c changed) {
				c.m.put(t, "/proc/self/cgroup", "0::/ci/job")
				c.m.put(t, "/sys/fs/cgroup/ci/job/memory.max", "max")
				c.m.put(t, "/sys/fs/cgroup/ci/memory.max", "4294967296")
				c.m.put(t, "/sys/fs/cgroup/ci/memory.current", "3221225472")
			},
			check: "memory", status: Fail, found: "1.0 GiB free within the limit of this process's cgroup", remedy: "make 1.4 GiB available",
		},
		"a full disk": {
			change: func(_ *testing.T, c changed) {
				c.m.freeBytes = func(string) (uint64, error) { return 3 << 30, nil }
			},
			check: "disk", status: Fail, found: "3.0 GiB free at /cache, 3.0 GiB free at /var/lib/docker",
			remedy: "make 3.4 GiB available for 5 nodes; try docker system prune",
		},
		"little room to build": {
			change: func(_ *testing.T, c changed) {
				c.m.freeBytes = func(string) (uint64, error) { return 5 << 30, nil }
			},
			check: "disk", status: Warn, found: "5.0 GiB free", remedy: "make 8.0 GiB available to build node images, or set HOLDFAST_CACHE",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m, e := laptop(t)
			test.change(t, changed{m, e})
			report := m.examine(t.Context(), Options{CacheDir: "/cache"})
			failed := false
			for _, check := range report.Checks {
				failed = failed || check.Status == Fail
				if check.Name != test.check {
					continue
				}
				if check.Status != test.status {
					t.Errorf("%s is %s, want %s: %+v", check.Name, check.Status, test.status, check)
				}
				if !strings.Contains(check.Found, test.found) {
					t.Errorf("found %q, want in it %q", check.Found, test.found)
				}
				if !strings.Contains(check.Remedy, test.remedy) || (test.remedy == "") != (check.Remedy == "") {
					t.Errorf("remedy %q, want in it %q", check.Remedy, test.remedy)
				}
			}
			if report.OK == failed {
				t.Errorf("OK is %t although a check failed: %t", report.OK, failed)
			}
			if failed && test.status != Fail {
				t.Errorf("another check failed: %+v", report.Checks)
			}
		})
	}
}
