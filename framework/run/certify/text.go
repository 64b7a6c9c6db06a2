package certify

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// WriteJSON writes the comparison for programs.
func (d Diff) WriteJSON(out io.Writer) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(d)
}

// WriteText writes a line for each difference, the worst first, and a summary as the last line.
func (d Diff) WriteText(out io.Writer) error {
	var b strings.Builder
	for i, c := range []Compared{d.A, d.B} {
		fmt.Fprintf(&b, "%s: %s, Kubernetes %s to %s: %s", []string{"A", "B"}[i], c.ID, c.From, c.To, c.Result)
		if c.Planted != "" {
			fmt.Fprintf(&b, " (planted: %s)", c.Planted)
		}
		b.WriteString("\n")
	}
	for _, part := range []struct {
		word    string
		changes []Change
	}{{"REGRESSION", d.Regressions}, {"missing", d.Missing}, {"better", d.Better}, {"different", d.Different}} {
		for _, c := range part.changes {
			fmt.Fprintf(&b, "%-10s  %s: was %s, is %s", part.word, c.What, c.Was, c.Is)
			if c.Why != "" {
				fmt.Fprintf(&b, ": %s", c.Why)
			}
			b.WriteString("\n")
		}
	}
	switch {
	case len(d.Scenarios) > 0:
		fmt.Fprintf(&b, "regressed: %s\n", strings.Join(d.Scenarios, ", "))
	case len(d.Regressions) > 0:
		fmt.Fprintf(&b, "regressed: %s\n", d.Regressions[0].What)
	case len(d.Missing) > 0:
		b.WriteString("no regression, but evidence is missing\n")
	default:
		b.WriteString("no regression\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}
