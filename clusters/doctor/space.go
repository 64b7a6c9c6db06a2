package doctor

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-ha/holdfast/clusters/engine"
)

// What a cluster was seen to take, and what is wise to have. Four nodes took 1.2 GB of memory, seven 1.5 GB. A node's
// images, unpacked, take 0.3 to 0.8 GB; the node image 0.6 GB; building it some GB more.
const (
	baseMemory = 900 << 20
	nodeMemory = 100 << 20
	loadMemory = 512 << 20 // workloads and load workers of a heavy scenario

	baseDisk  = 1 << 30
	nodeDisk  = 500 << 20
	buildDisk = 8 << 30
)

// memory that is free, within the limits of the cgroups that this process is in.
func (m *machine) memory(nodes int) Check {
	check := Check{Name: "memory", Status: OK}
	free, ok := m.availableMemory()
	if !ok {
		check.Status, check.Found = Warn, "cannot be told: /proc/meminfo has no MemAvailable"
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
		check.Status, check.Remedy = Fail, fmt.Sprintf("free %s, which %d nodes take, or make fewer nodes", gib(need), nodes)
	case free < need+loadMemory:
		check.Status, check.Remedy = Warn, fmt.Sprintf("free %s for %d nodes under load", gib(need+loadMemory), nodes)
	}
	return check
}

func (m *machine) availableMemory() (bytes uint64, ok bool) {
	text := strings.TrimSuffix(m.field("/proc/meminfo", "MemAvailable"), " kB")
	size, err := strconv.ParseUint(text, 10, 64)
	return size << 10, err == nil
}

// cgroupMemory is what the tightest of our cgroups leaves, from our own up to the top that can be seen.
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

// disk space of the engine's storage, where nodes live, and of our cache, where images are built.
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
			worse(Warn, fmt.Sprintf("free %s to build node images, or set HOLDFAST_CACHE to a larger disk", gib(buildDisk)))
		}
	}
	if e != nil && m.exists(e.StorageDir()) { // a daemon may be on another machine, or in a virtual one
		free, err := m.freeBytes(e.StorageDir())
		if err != nil {
			worse(Warn, err.Error())
		} else {
			found = append(found, fmt.Sprintf("%s free at %s", gib(free), e.StorageDir()))
			if need := uint64(baseDisk + o.Nodes*nodeDisk); free < need {
				worse(Fail, fmt.Sprintf("free %s, which %d nodes take; %s system prune may", gib(need), o.Nodes, e.Name()))
			}
		}
	}
	check.Found = strings.Join(found, ", ")
	return check
}

func cacheDir(o Options) (string, error) {
	if o.CacheDir != "" {
		return o.CacheDir, nil
	}
	return engine.CacheDir()
}
