package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// WriteText writes one line per check: status, name, finding, and after an arrow the remedy. The last line is whether a cluster
// can be created.
func (r Report) WriteText(w io.Writer) error {
	width := 0
	for _, check := range r.Checks {
		width = max(width, len(check.Name))
	}
	var text strings.Builder
	for _, check := range r.Checks {
		fmt.Fprintf(&text, "%-4s  %-*s  %s", check.Status, width, check.Name, check.Found)
		if check.Remedy != "" {
			fmt.Fprintf(&text, " -> %s", check.Remedy)
		}
		text.WriteByte('\n')
	}
	if r.OK {
		fmt.Fprintf(&text, "A cluster of %d nodes can be created here.\n", r.Nodes)
	} else {
		fmt.Fprintf(&text, "A cluster of %d nodes cannot be created here until the failed checks are fixed.\n", r.Nodes)
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// WriteJSON writes the report as one indented object.
func (r Report) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false) // otherwise && in commands is escaped
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}
