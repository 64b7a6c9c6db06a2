package audit

import (
	"encoding/json"
	"fmt"
	"io"
)

// WriteJSON writes the report, for programs. Its format is versioned: see Format.
func (r Report) WriteJSON(w io.Writer) error { return write(w, r) }

func write(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}
