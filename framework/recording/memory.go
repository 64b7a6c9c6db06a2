package recording

import (
	"os"
	"runtime/debug"
)

// memoryAim is what a recorder is to keep to, without the pages of its program, which are some 60 MB. The recorder of a day of 150 nodes and 3,000
// pods needs less, if what it does not need any more is collected in time.
const memoryAim = 200 << 20

// KeepSmall has the garbage collector keep the process small, because a recorder runs for days beside other programs: without that, the memory doubles
// before anything is collected. Who sets GOMEMLIMIT knows better. Besides is what the process has that is not the recorder's, in bytes.
func KeepSmall(besides int64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryAim + besides)
	}
}
