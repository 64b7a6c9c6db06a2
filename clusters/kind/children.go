package kind

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// children counts the running child processes of this process whose command line names the cluster. kind runs one engine
// command per node in parallel, and returns at the first error while the others still create containers. Without /proc the
// count is zero.
func children(name string) int {
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // Glob fails only on a malformed pattern
	var count int
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil || parentOf(string(stat)) != os.Getpid() {
			continue
		}
		command, err := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		if err == nil && strings.Contains(string(command), prefix+name+"-") {
			count++
		}
	}
	return count
}

// parentOf parses the parent PID from /proc/PID/stat: the second field after the process name. The name is in parentheses and
// may contain any character.
func parentOf(stat string) int {
	fields := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])
	if len(fields) < 2 {
		return 0
	}
	var parent int
	_, _ = fmt.Sscan(fields[1], &parent) // zero, which is no valid PID, if it cannot be parsed
	return parent
}
