package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// kubectl starts a plugin by the name of its file. Help and errors then name the command that the user typed.
func TestAsAPluginOfKubectl(t *testing.T) {
	for name, called := range map[string]string{"kubectl-holdfast": "kubectl holdfast", "holdfast": "holdfast"} {
		link := filepath.Join(t.TempDir(), name)
		if err := os.Symlink(os.Args[0], link); err != nil {
			t.Fatal(err)
		}
		for args, wants := range map[string][]string{
			"--help":          {"\n  " + called + " [command]\n", "\n  " + called + " doctor ", `"` + called + ` [command] --help"`},
			"doctor --help":   {"\n  " + called + " doctor [flags]\n", "\n  " + called + " doctor --nodes 8 --kubernetes v1.36.3 --json\n"},
			"doctor --nodess": {"see '" + called + " doctor --help'"},
			"doctr":           {`unknown command "doctr" for "` + called + `"`},
		} {
			cmd := exec.CommandContext(t.Context(), link, strings.Fields(args)...)
			cmd.Env = append(os.Environ(), mainVariable+"=1")
			out, _ := cmd.CombinedOutput() // what it says tells whether it failed
			for _, want := range wants {
				if !strings.Contains(string(out), want) {
					t.Errorf("%s %s: does not say %q:\n%s", name, args, want, out)
				}
			}
			if called == "holdfast" && strings.Contains(string(out), "kubectl holdfast") {
				t.Errorf("%s %s names kubectl:\n%s", name, args, out)
			}
		}
	}
}
