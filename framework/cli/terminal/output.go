package terminal

import (
	"encoding/json"
	"fmt"
	"io"
)

// SayTo returns a function that writes progress lines for the user.
func SayTo(w io.Writer) func(string, ...any) {
	return func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }
}

// PrintJSON prints a value for programs.
func PrintJSON(out io.Writer, v any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}
