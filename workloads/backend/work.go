package backend

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// work takes so much processor time, whatever that takes on the clock: an autoscaler reads processor time, and on a busy
// machine a span of time holds less of it.
func work(span time.Duration) {
	if span <= 0 {
		return
	}
	runtime.LockOSThread() // whose time is measured
	defer runtime.UnlockOSThread()
	for began := threadTime(); threadTime()-began < span; {
	}
}

// threadTime is the processor time that this thread has taken, as the kernel counts it.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err) // the clock exists on every Linux
	}
	return time.Duration(t.Nano())
}
