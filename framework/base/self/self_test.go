package self_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/base/self"
)

// A test is not holdfast, so the executable is the one that the variable names or one that is compiled.
func TestPathRefuses(t *testing.T) {
	text := filepath.Join(t.TempDir(), "holdfast")
	if err := os.WriteFile(text, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	stopped, stop := context.WithCancelCause(t.Context())
	stop(errors.New("stopped"))
	for name, test := range map[string]struct {
		ctx        context.Context
		executable string
		want       string
	}{
		"no Linux executable":  {t.Context(), text, "use " + text + " in containers: not a Linux executable"},
		"no file":              {t.Context(), text + "x", "no such file"},
		"interrupted compiler": {stopped, "", "find the holdfast executable for containers: stopped"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(self.Variable, test.executable)
			path, err := self.Path(test.ctx, t.TempDir())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s, %v; want %q", path, err, test.want)
			}
		})
	}
}
