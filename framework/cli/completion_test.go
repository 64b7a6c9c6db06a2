package cli

import (
	"strings"
	"testing"
)

// Shell completion offers the names of scenarios and incidents, and no files.
func TestCompletion(t *testing.T) {
	onThese(t)
	for typed, want := range map[string]string{
		"run chaos/":             "chaos/one\nchaos/two\n:4\n",
		"selftest mutants/":      "mutants/three\n:4\n",
		"run --incident ":        "it-broke\n:4\n",
		"run --scope ":           "short\nfull\n:4\n",
		"selftest --timings s":   "stock\n:4\n",
		"run chaos/one mutants/": "mutants/three\n:4\n",
	} {
		out, code, err := execute(t, append([]string{"__complete"}, strings.Split(typed, " ")...)...)
		if code != ExitHeld || !strings.HasPrefix(out, want) {
			t.Errorf("%s: exit code %d, %v, %q; want %q", typed, code, err, out, want)
		}
	}
}
