package recording

import (
	"os"
	"runtime/debug"
)

// collectAfter is by how many percent the memory of a recorder may grow before what it does not need any more is collected. Go's default is 100. A limit
// in bytes would keep the collector busy all the time on a cluster that needs more.
const collectAfter = 30

// KeepSmall has the garbage collector keep this process small, because a recorder runs for days beside other programs. Who sets GOGC or GOMEMLIMIT
// knows better.
func KeepSmall() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(collectAfter)
	}
}
