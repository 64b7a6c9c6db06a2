package cli

import (
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
)

// Shell completion offers the names of scenarios and incidents, and no files.
func TestCompletion(t *testing.T) {
	onThese(t)
	for typed, want := range map[string]string{
		"run chaos/":             "chaos/one\nchaos/two\n:4\n",
		"run mutants/":           "mutants/three\n:4\n",
		"run --incident ":        "it-broke\n:4\n",
		"run --scope ":           "short\nfull\n:4\n",
		"run --timings s":        "stock\n:4\n",
		"run --label mut":        "mutant\nmutants\n:4\n",
		"run --proxy-mode ip":    "iptables\nipvs\n:4\n",
		"export --lane re":       "reused\n:4\n",
		"audit --skip one-":      "one-node\none-zone\n:4\n",
		"audit --emit p":         "policy\n:4\n",
		"audit --fail-on n":      "note\nnever\n:4\n",
		"up --for chaos/t":       "chaos/two\n:4\n",
		"run chaos/one mutants/": "mutants/three\n:4\n",
	} {
		out, code, err := execute(t, append([]string{"__complete"}, strings.Split(typed, " ")...)...)
		if code != exit.Held || !strings.HasPrefix(out, want) {
			t.Errorf("%s: exit code %d, %v, %q; want %q", typed, code, err, out, want)
		}
	}
}
