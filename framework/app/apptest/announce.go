package apptest

import (
	"fmt"
	"io"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// Announce says what is not tested, and what a reader of the verdicts must know, each once.
func Announce(out io.Writer, specs []scenario.Spec, untested []Untested) {
	for _, w := range untested {
		_, _ = fmt.Fprintf(out, "untested: %s %s: %s\n", w.Kind, w.Name, w.Why)
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

// List says what would be done, and what is promised of it.
func List(out io.Writer, specs []scenario.Spec) {
	var about time.Duration
	for _, s := range specs {
		about += s.About
		_, _ = fmt.Fprintf(out, "%s: %s\n", s.Name, s.Claim)
		for _, p := range s.Promises {
			_, _ = fmt.Fprintf(out, "  promised: %s\n", p)
		}
	}
	_, _ = fmt.Fprintf(out, "%s would run, for about %s\n", prose.Count(len(specs), "scenario"), about)
}
