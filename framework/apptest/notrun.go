package apptest

import (
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-ha/holdfast/workloads/app"
)

// AnnounceNotRun says which hooks of a chart do not run.
func AnnounceNotRun(out io.Writer, a app.App) {
	for _, m := range a.NotRun {
		_, _ = fmt.Fprintf(out, "not run: %s, because it is a hook for %s, and a test only installs\n", m, strings.Join(m.Hook().Events, ", "))
	}
}
