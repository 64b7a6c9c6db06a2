package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The recipes of the applications are read.
func TestTheRecipesOfTheApplicationsAreRead(t *testing.T) {
	files, err := filepath.Glob("../*/*.image.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		if _, err := readRecipe(file); err != nil {
			t.Error(err)
		}
	}
}

func TestRecipesThatMakeNoSense(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"nothing in it": {"name: a:1\nentrypoint: [/a]\n", "want a name, packages or a program, and an entrypoint"},
		"no entrypoint": {"name: a:1\nprogram: ./server\n", "want a name, packages or a program, and an entrypoint"},
		"a typo":        {"name: a:1\nprogramm: ./server\nentrypoint: [/a]\n", "programm"},
	} {
		file := filepath.Join(t.TempDir(), "a.image.yaml")
		if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readRecipe(file); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}
