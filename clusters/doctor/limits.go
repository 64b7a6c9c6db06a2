package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ha/holdfast/clusters/engine"
)

// Measured needs of a node, rounded up, on kind nodes with a handful of pods each.
const (
	nodeInstances = 16  // inotify instances: 114 for seven nodes
	nodeWatches   = 500 // inotify watches: about 170
	nodeProcesses = 500 // threads: about 190 on a control plane, fewer on a worker, and each pod adds some

	otherInstances = 16 // used by the machine itself
)

// Linux's numbers of the capabilities that matter.
//
// Source: include/uapi/linux/capability.h
const (
	capNetAdmin    = 12
	capSysAdmin    = 21
	capSysResource = 24
)

// capabilities checks the capabilities of this process, which matter if the engine is its child, as podman is. docker's daemon
// has its own.
func (m *machine) capabilities(e containerEngine) Check {
	check := Check{Name: "capabilities", Status: OK}
	if e != nil && e.Name() == engine.Docker {
		check.Found = "those of docker's daemon"
		return check
	}
	set, err := strconv.ParseUint(m.field("/proc/self/status", "CapEff"), 16, 64)
	if err != nil {
		check.Status, check.Found = Warn, "unknown: /proc/self/status has no CapEff"
		return check
	}
	lacks := func(capability int) bool { return set&(1<<capability) == 0 }
	switch {
	case m.uid != 0:
		check.Found = "not root; podman creates its own user namespace"
	case lacks(capSysAdmin) || lacks(capNetAdmin):
		check.Status = Fail
		check.Found = "sys_admin or net_admin is missing: no mounts or networks for nodes"
		check.Remedy = "run on the machine itself, or in a container started with --privileged"
	case lacks(capSysResource):
		check.Status = Warn
		check.Found = "sys_resource is missing: limits cannot be raised, and docker starts no privileged container"
		check.Remedy = "none for podman, which is configured with the current limits; for docker, give its daemon sys_resource"
	default:
		check.Found = "all that are needed"
	}
	return check
}

// limits checks the limits of this process, which podman's containers inherit, and of the machine.
func (m *machine) limits(nodes int) Check {
	check := Check{Name: "limits", Status: OK}
	files, processes := m.hardLimit(unix.RLIMIT_NOFILE), m.hardLimit(unix.RLIMIT_NPROC)
	numbers, ok := m.number("/proc/sys/kernel/pid_max")
	if !ok {
		numbers = 1 << 15 // default of the kernel
	}
	check.Found = fmt.Sprintf("open files %s, processes %s, kernel.pid_max %d", count(files), count(processes), numbers)
	// etcd and containerd have run with 20000 open files. docker's daemon had 4096 for years.
	const wantFiles = 4096
	want := uint64(nodes * nodeProcesses)
	switch {
	case files < wantFiles:
		check.Status, check.Remedy = Warn, fmt.Sprintf("ulimit -Hn %d, or more, as root before holdfast starts", wantFiles)
	case min(processes, numbers) < want:
		check.Status = Warn
		check.Remedy = fmt.Sprintf("sudo sysctl -w kernel.pid_max=4194304, and ulimit -Hu of at least %d", want)
	}
	return check
}

// count formats a limit as a shell does.
func count(limit uint64) string {
	if limit == unix.RLIM_INFINITY {
		return "unlimited"
	}
	return strconv.FormatUint(limit, 10)
}

// inotify checks the inotify limits, which all processes of a user share. A kubelet that exceeds them does not start.
func (m *machine) inotify(nodes int) Check {
	check := Check{Name: "inotify", Status: OK}
	instances, first := m.number(instancesPath)
	watches, second := m.number(watchesPath)
	if !first || !second {
		check.Status, check.Found = Warn, "the limits cannot be read"
		return check
	}
	check.Found = fmt.Sprintf("%d instances%s, %d watches%s",
		instances, m.note(instancesPath), watches, m.note(watchesPath))
	needInstances, needWatches := uint64(nodes*nodeInstances+otherInstances), uint64(nodes*nodeWatches)
	if instances < needInstances || watches < needWatches {
		check.Status, check.Remedy = Fail, inotifyRemedy
		check.Found += fmt.Sprintf("; %d nodes take about %d and %d", nodes, needInstances, needWatches)
	}
	return check
}

// modules checks for the folder that kind mounts, which may be empty.
func (m *machine) modules(e containerEngine) Check {
	check := Check{Name: modulesPath, Status: OK, Found: "exists" + m.note(modulesPath)}
	switch {
	case m.exists(modulesPath):
	case e != nil && e.Name() == engine.Docker:
		check.Found = "missing; docker creates it"
	default:
		check.Status, check.Found = Fail, "missing, but kind mounts it"
		check.Remedy = "sudo mkdir -p " + modulesPath
	}
	return check
}

// controllers are the cgroup controllers that the kubelet needs to start.
var controllers = []string{"cpu", "cpuset", "memory", "pids"}

// cgroups checks the cgroup version, which determines which systemd and kubelet can run in a node.
func (m *machine) cgroups() Check {
	const top = "/sys/fs/cgroup"
	check := Check{Name: "cgroups", Status: OK}
	unified := m.exists(top + "/cgroup.controllers")
	listed := strings.Fields(m.text(top + "/cgroup.controllers"))
	var missing []string
	for _, name := range controllers {
		if !m.exists(top+"/"+name) && !slices.Contains(listed, name) {
			missing = append(missing, name)
		}
	}
	switch {
	case unified:
		check.Found = "version 2"
	case len(missing) == len(controllers):
		check.Status, check.Found, check.Remedy = Fail, "not mounted at "+top, "run where /sys/fs/cgroup is mounted"
		return check
	default:
		check.Status = Warn
		check.Found = "version 1"
		if m.exists(top + "/unified") {
			check.Found += " (hybrid with version 2)"
		}
		check.Found += "; the kubelet is configured to accept it, and systemd in the image that holdfast builds boots on it"
		check.Remedy = "none for that image; for newer images, boot with systemd.unified_cgroup_hierarchy=1"
	}
	if len(missing) > 0 {
		check.Status = Fail
		check.Found += "; no controller for " + strings.Join(missing, ", ")
		check.Remedy = "boot with a kernel, or run in a container, that has them (memory: cgroup_enable=memory)"
	}
	return check
}
