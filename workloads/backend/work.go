package backend

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// work uses CPU time, however long that takes on the clock: autoscalers measure CPU time, and on a busy machine a span of
// wall-clock time contains less of it.
func work(span time.Duration) {
	if span <= 0 {
		return
	}
	runtime.LockOSThread() // because threadTime measures this thread
	defer runtime.UnlockOSThread()
	for began := threadTime(); threadTime()-began < span; {
	}
}

// threadTime is the CPU time that this thread has used, according to the kernel.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err) // the clock exists on every Linux
	}
	return time.Duration(t.Nano())
}
