package runfolder

import (
	"bufio"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Machine is what a run ran on: the machine of the nodes, or the one that holdfast ran on if it did not make the cluster. Figures of different
// machines say little about each other.
type Machine struct {
	Cores  int    `json:"cores"`
	Arch   string `json:"arch"`             // as Go names it: amd64
	Kernel string `json:"kernel,omitempty"` // its release
	CPU    string `json:"cpu,omitempty"`    // its model; empty if the machine does not tell
}

// ThisMachine is the one that this process runs on.
func ThisMachine() *Machine {
	m := &Machine{Cores: runtime.NumCPU(), Arch: runtime.GOARCH, CPU: cpuModel("/proc/cpuinfo")}
	var host unix.Utsname
	if unix.Uname(&host) == nil {
		m.Kernel = unix.ByteSliceToString(host.Release[:])
	}
	return m
}

// cpuModel is the model of the first CPU that the file lists.
func cpuModel(name string) string {
	file, err := os.Open(name)
	if err != nil {
		return "" // only Linux has it
	}
	defer func() { _ = file.Close() }() // only read
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if key, model, _ := strings.Cut(lines.Text(), ":"); strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(model)
		}
	}
	return ""
}
