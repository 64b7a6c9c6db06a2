package debian_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/workloads/image/debian"
)

// The recipes of the applications are read.
func TestTheRecipesOfTheApplicationsAreRead(t *testing.T) {
	files, err := filepath.Glob("../../../suites/apps/*/*.image.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		if _, err := debian.Read(file); err != nil {
			t.Error(err)
		}
	}
}

func TestRecipesThatMakeNoSense(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"nothing in it":    {"name: a:1\nentrypoint: [/a]\n", "want a name, packages, a program or a module, and an entrypoint"},
		"no entrypoint":    {"name: a:1\nprogram: ./server\n", "want a name, packages, a program or a module, and an entrypoint"},
		"a typo":           {"name: a:1\nprogramm: ./server\nentrypoint: [/a]\n", "programm"},
		"no version":       {"name: a:1\nmodule: {module: example.com/a, package: .}\nentrypoint: [/a]\n", "the version of a Go module"},
		"a file elsewhere": {"name: a:1\nmodule: {module: m, version: v1, package: ., files: {../x: a}}\nentrypoint: [/a]\n", `file "../x"`},
	} {
		file := filepath.Join(t.TempDir(), "a.image.yaml")
		if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := debian.Read(file); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}
