package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// printList prints scenarios with their claims and, if nothing was named, incidents with their symptoms, and labels.
func (f runFlags) printList(out io.Writer, specs []scenario.Spec) error {
	var b strings.Builder
	for _, s := range specs {
		fmt.Fprintf(&b, "%-45s %s\n", s.Name, s.Claim)
	}
	if f.Incident == "" && len(f.Names) == 0 {
		for _, i := range scenario.Incidents {
			fmt.Fprintf(&b, "--incident %-34s %s\n", i.Name, i.Symptom)
		}
		for _, label := range scenario.Labels(specs) {
			fmt.Fprintf(&b, "--label %s\n", label)
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// tell prints the incident that a run reproduces.
func tell(out io.Writer, i *history.Incident) error {
	if i == nil {
		return nil
	}
	_, err := fmt.Fprintf(out, "incident %s\n  story:   %s\n  symptom: %s\n  cause:   %s\n  fix:     %s\n",
		i.Name, i.Story, i.Symptom, i.Cause, i.Fix)
	return err
}
