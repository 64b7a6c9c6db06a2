package apptest

import (
	"fmt"
	"io"

	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// Announce says what is not tested, and what a reader of the verdicts must know, each once.
func Announce(out io.Writer, specs []scenario.Spec, untested []app.Workload) {
	for _, w := range untested {
		_, _ = fmt.Fprintf(out, "untested: no URL leads to %s %s, and nothing is promised of it\n", w.Kind(), w.Name)
	}
	said := map[string]bool{}
	for _, spec := range specs {
		for _, note := range spec.Notes {
			if !said[note] {
				_, _ = fmt.Fprintln(out, "note: "+note)
			}
			said[note] = true
		}
	}
}
