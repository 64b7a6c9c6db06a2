package observe

import "golang.org/x/sys/unix"

// runningClock is of clockReading.Running: it stands still while the machine is suspended, and bootClock does not.
const runningClock, bootClock = unix.CLOCK_MONOTONIC, unix.CLOCK_BOOTTIME
