package observe

import "golang.org/x/sys/unix"

// runningClock is of clockReading.Running: it stands still while the machine is suspended, as Go's own clock does there, and bootClock does not.
//
// Source: clock_gettime(3) of macOS
const runningClock, bootClock = unix.CLOCK_UPTIME_RAW, unix.CLOCK_MONOTONIC
