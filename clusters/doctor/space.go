package doctor

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-ha/holdfast/clusters/engine"
)

// Measured needs of a cluster, plus a reserve. Four nodes used 1.2 GB of memory, seven used 1.5 GB. The unpacked images of a
// node use 0.3 to 0.8 GB, the node image 0.6 GB, and building it some GB more.
const (
	baseMemory = 900 << 20
	nodeMemory = 100 << 20
	loadMemory = 512 << 20 // workloads and load workers of a heavy scenario

	baseDisk  = 1 << 30
	nodeDisk  = 500 << 20
	buildDisk = 8 << 30
)

// memory checks the free memory within the limits of this process's cgroups.
func (m *machine) memory(nodes int) Check {
	check := Check{Name: "memory", Status: OK}
	free, ok := m.availableMemory()
	if !ok {
		check.Status, check.Found = Warn, "unknown: /proc/meminfo has no MemAvailable"
		return check
	}
	where := ""
	if limited, ok := m.cgroupMemory(); ok && limited < free {
		free, where = limited, " within the limit of this process's cgroup"
	}
	check.Found = gib(free) + " free" + where
	need := uint64(baseMemory + nodes*nodeMemory)
	switch {
	case free < need:
		check.Status, check.Remedy = Fail, fmt.Sprintf("make %s available for %d nodes, or create fewer nodes", gib(need), nodes)
	case free < need+loadMemory:
		check.Status, check.Remedy = Warn, fmt.Sprintf("make %s available for %d nodes under load", gib(need+loadMemory), nodes)
	}
	return check
}

func (m *machine) availableMemory() (bytes uint64, ok bool) {
	text := strings.TrimSuffix(m.field("/proc/meminfo", "MemAvailable"), " kB")
	size, err := strconv.ParseUint(text, 10, 64)
	return size << 10, err == nil
}

// cgroupMemory is the memory left in the most restrictive cgroup, from this process's cgroup up to the topmost visible one.
func (m *machine) cgroupMemory() (bytes uint64, ok bool) {
	for _, line := range strings.Split(m.text("/proc/self/cgroup"), "\n") {
		parts := strings.SplitN(line, ":", 3)
		if len(parts) != 3 {
			continue
		}
		top, limit, usage := "/sys/fs/cgroup", "memory.max", "memory.current"
		switch {
		case slices.Contains(strings.Split(parts[1], ","), "memory"):
			top, limit, usage = top+"/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
		case parts[1] != "":
			continue
		}
		for dir := path.Clean("/" + parts[2]); ; dir = path.Dir(dir) {
			high, known := m.number(path.Join(top, dir, limit))
			used, _ := m.number(path.Join(top, dir, usage))
			if left := high - min(used, high); known && (!ok || left < bytes) {
				bytes, ok = left, true
			}
			if dir == "/" {
				break
			}
		}
	}
	return bytes, ok
}

// disk checks the space of the engine's storage, which contains the nodes, and of the cache folder, where images are built.
func (m *machine) disk(e containerEngine, o Options) Check {
	check := Check{Name: "disk", Status: OK}
	var found []string
	worse := func(status Status, remedy string) {
		if check.Status != Fail {
			check.Status, check.Remedy = status, remedy
		}
	}
	if cache, err := cacheDir(o); err != nil {
		worse(Fail, err.Error())
	} else if free, err := m.freeBytes(cache); err != nil {
		worse(Warn, err.Error())
	} else {
		found = append(found, fmt.Sprintf("%s free at %s", gib(free), cache))
		if free < buildDisk {
			worse(Warn, fmt.Sprintf("make %s available to build node images, or set HOLDFAST_CACHE to a larger disk", gib(buildDisk)))
		}
	}
	if e != nil && m.exists(e.StorageDir()) {
		storage := m.space(e.StorageDir(), o.Nodes, e.Name())
		if storage.Status != OK {
			worse(storage.Status, storage.Remedy)
		}
		found = append(found, storage.Found)
	}
	check.Found = strings.Join(found, ", ")
	return check
}

// space checks the space for nodes below a folder of an engine, whose program removes what it does not need.
func (m *machine) space(folder string, nodes int, program string) Check {
	check := Check{Name: "disk", Status: OK}
	free, err := m.freeBytes(folder)
	if err != nil {
		check.Status, check.Found, check.Remedy = Warn, "unknown", err.Error()
		return check
	}
	check.Found = fmt.Sprintf("%s free at %s", gib(free), folder)
	if need := uint64(baseDisk + nodes*nodeDisk); free < need {
		check.Status = Fail
		check.Remedy = fmt.Sprintf("make %s available for %d nodes; try %s system prune", gib(need), nodes, program)
	}
	return check
}

func cacheDir(o Options) (string, error) {
	if o.CacheDir != "" {
		return o.CacheDir, nil
	}
	return engine.CacheDir()
}
