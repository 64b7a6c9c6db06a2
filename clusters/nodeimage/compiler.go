package nodeimage

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// leastShare is the least memory for a compiler that collects garbage less often. The largest package of Kubernetes takes about a GiB.
const leastShare = 2 << 30

// compilerEnv is the environment in which the compilers collect garbage less often, which takes a fifth less time, as long as each has its share
// of the memory. Beyond the share they collect it more often again. What the user has set stays, and so does Go's default where
// memory is scarce. Files are read by readFile.
func compilerEnv(readFile func(path string) ([]byte, error)) []string {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return nil
	}
	share := availableMemory(readFile) / uint64(2*runtime.GOMAXPROCS(0)) // as many compilers as cores; the other half is for whatever else runs
	if share < leastShare {
		return nil
	}
	return []string{"GOGC=400", fmt.Sprintf("GOMEMLIMIT=%dMiB", share>>20)}
}

// availableMemory is how much memory is available: the kernel's estimate, or the limit of this container if that is lower. It is zero where the
// kernel does not tell.
func availableMemory(readFile func(path string) ([]byte, error)) uint64 {
	text, _ := readFile("/proc/meminfo") // Linux only
	_, after, _ := strings.Cut(string(text), "\nMemAvailable:")
	line, _, _ := strings.Cut(after, "\n")
	kib, _ := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(line, "kB")), 10, 64)
	least := kib << 10
	for _, path := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, _ := readFile(path)
		if limit, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil { // "max" is no number
			least = min(least, limit)
		}
	}
	return least
}
