package audit

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A command that is printed to be copied has names in it that come from the API server. A shell takes each for a word, and runs no part of it.
func TestCommandsQuoteWhatTheyName(t *testing.T) {
	for _, name := range []string{"web", "web; touch PWNED #", "$(touch PWNED)", "`touch PWNED`", "a b", "x'; touch PWNED; '", "web\ntouch PWNED", "*", ""} {
		dir := t.TempDir()
		v := view{kubectl: "printf [%s]"}
		at := Target{Kind: "Deployment", Namespace: name, Name: name}
		s := subject{view: &v, Workload: &Workload{Kind: at.Kind, Namespace: name, Name: name}}
		for _, step := range []Step{v.remove(at), v.patch(at, JSONPatch, []op{{Op: "add", Path: "/x", Value: name}}), s.restart()} {
			cmd := exec.CommandContext(t.Context(), "sh", "-c", step.Command)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "["+name+"]") {
				t.Errorf("%q: %v: %s says %s", name, err, step.Command, out)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, "PWNED")); err == nil {
			t.Errorf("%q was run", name)
		}
	}
	if got := Word("shop/web-1"); got != "shop/web-1" {
		t.Errorf("%s is quoted, and needs not be", got)
	}
}
