package process

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What a command leaves does not outlive it, and is not waited for: not a child in the foreground, nor one in the background that holds the output open,
// nor one in a session of its own.
func TestRunGroup(t *testing.T) {
	for name, test := range map[string]struct {
		script string
		fails  bool
	}{
		"a child in the foreground":                     {"sleep 30; true", true},
		"a child of a child":                            {"sh -c 'sleep 30; true'; true", true},
		"a child in the background, and the shell ends": {"(sleep 3; touch late) & echo said", false},
		"a child in a session of its own":               {"setsid sleep 30 & echo said", false},
		"nothing":                                       {"echo said", false},
		"one that fails":                                {"echo said; exit 3", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			cmd := exec.CommandContext(ctx, "sh", "-c", test.script)
			var out bytes.Buffer
			cmd.Dir, cmd.Stdout, cmd.Stderr = t.TempDir(), &out, &out
			began := time.Now()
			err := RunGroup(cmd)
			if took := time.Since(began); (err != nil) != test.fails || took > 10*time.Second {
				t.Errorf("%v after %s", err, took)
			}
			if !strings.Contains(test.script, "sleep 30;") && out.String() != "said\n" {
				t.Errorf("it said %q", &out)
			}
			if name == "a child in the background, and the shell ends" {
				time.Sleep(4 * time.Second)
				if _, err := os.Stat(filepath.Join(cmd.Dir, "late")); err == nil {
					t.Error("a child outlived the command")
				}
			}
		})
	}
}
