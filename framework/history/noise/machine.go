package noise

import (
	"bufio"
	"bytes"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// machine holds cumulative counters of the kernel. Counters that the kernel does not provide stay zero.
type machine struct {
	at        history.Offset // when they were read
	ticks     ticks
	throttled time.Duration
	waited    time.Duration // for a processor
}

// ticks are sums over all processors. Only their ratios are used.
type ticks struct{ all, idle, stolen uint64 }

const (
	// promptly is how long reading the counters of the processors may take. A process that is kept from running meanwhile would date them
	// wrongly: shares of one sample would be those of the next.
	promptly = 10 * time.Millisecond
	readings = 5
)

// readMachine reads the counters below root, which is "/" outside tests.
func readMachine(root fs.FS, now func() history.Offset) machine {
	m := machine{throttled: readThrottled(root)}
	for range readings {
		begun := now()
		m.ticks, m.waited = readTicks(root), readWaits(root)
		if m.at = now(); m.at-begun <= promptly {
			break
		}
	}
	return m
}

// since stores the difference to an earlier reading in n.
func (m machine) since(before machine, n *history.Noise) {
	if m.ticks.all > before.ticks.all {
		all := float64(m.ticks.all - before.ticks.all)
		n.Steal = share(float64(m.ticks.stolen-before.ticks.stolen), all)
		// The kernel may take back some of the time in which it waited for input or output.
		n.Used = share(all-max(0, float64(m.ticks.idle)-float64(before.ticks.idle)), all)
	}
	n.Throttled = max(0, m.throttled-before.throttled)
	n.CPU = share(float64(m.waited-before.waited), float64(m.at-before.at))
}

// share is part/whole, limited to 0 to 1 and rounded to thousandths to keep records short. More digits would not be meaningful.
func share(part, whole float64) float64 {
	if whole <= 0 || part <= 0 {
		return 0
	}
	const thousandths = 1000
	return float64(int(min(part/whole, 1)*thousandths+0.5)) / thousandths
}

// readTicks reads the line "cpu" of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal. The guest columns that
// follow are already included in user and nice.
//
// Source: https://docs.kernel.org/filesystems/proc.html#miscellaneous-kernel-statistics-in-proc-stat
func readTicks(root fs.FS) (sum ticks) {
	const columns, idle, ioWait, steal = 8, 3, 4, 7
	for _, fields := range lines(root, "proc/stat") {
		if fields[0] != "cpu" || len(fields) <= columns {
			continue
		}
		for i, field := range fields[1 : columns+1] {
			n, err := strconv.ParseUint(field, 10, 64)
			if err != nil {
				return ticks{}
			}
			sum.all += n
			switch i {
			case idle, ioWait:
				sum.idle += n
			case steal:
				sum.stolen = n
			}
		}
	}
	return sum
}

// readThrottled reads cpu.stat of the process's own cgroup: version 2, or version 1 under either of its two paths.
//
// Source: https://docs.kernel.org/scheduler/sched-bwc.html#statistics
func readThrottled(root fs.FS) time.Duration {
	for _, name := range []string{"sys/fs/cgroup/cpu.stat", "sys/fs/cgroup/cpu/cpu.stat", "sys/fs/cgroup/cpu,cpuacct/cpu.stat"} {
		if held := readStat(root, name, throttled); held.known {
			return held.time
		}
	}
	return 0
}

// stats are the units of the lines that are looked for in a file of counters, by their names. The only line of some files has no name.
type stats map[string]time.Duration

// throttled is for how long a quota held a control group back, in version 2 and in version 1.
var throttled = stats{"throttled_usec": time.Microsecond, "throttled_time": time.Nanosecond}

// counter is a time that a file tells, or does not.
type counter struct {
	time  time.Duration
	known bool
}

// readStat reads the first of the lines.
func readStat(root fs.FS, name string, keys stats) counter {
	for _, fields := range lines(root, name) {
		key := ""
		if len(fields) > 1 {
			key = fields[0]
		}
		if unit, wanted := keys[key]; wanted {
			n, err := strconv.ParseInt(fields[len(fields)-1], 10, 64)
			return counter{time.Duration(n) * unit, err == nil}
		}
	}
	return counter{}
}

// readWaits reads the total of the line "some" of the processors' pressure stall file, in microseconds.
func readWaits(root fs.FS) time.Duration {
	for _, fields := range lines(root, "proc/pressure/cpu") {
		total, found := strings.CutPrefix(fields[len(fields)-1], "total=")
		if n, err := strconv.ParseInt(total, 10, 64); found && err == nil && fields[0] == "some" {
			return time.Duration(n) * time.Microsecond
		}
	}
	return 0
}

// lines are the fields of each non-empty line of a file. They are empty if the file cannot be read.
func lines(root fs.FS, name string) (all [][]string) {
	data, err := fs.ReadFile(root, name)
	if err != nil {
		return nil
	}
	for scanner := bufio.NewScanner(bytes.NewReader(data)); scanner.Scan(); {
		if fields := strings.Fields(scanner.Text()); len(fields) > 0 {
			all = append(all, fields)
		}
	}
	return all
}
