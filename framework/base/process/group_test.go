package process

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
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
			dir := t.TempDir()
			var out bytes.Buffer
			began := time.Now()
			err := RunGroup(t.Context(), time.Second, &out, "sh", "-c", "cd "+dir+"; "+test.script)
			if took := time.Since(began); (err != nil) != test.fails || took > 10*time.Second {
				t.Errorf("%v after %s", err, took)
			}
			if !strings.Contains(test.script, "sleep 30;") && out.String() != "said\n" {
				t.Errorf("it said %q", &out)
			}
			if name == "a child in the background, and the shell ends" {
				time.Sleep(4 * time.Second)
				if _, err := os.Stat(filepath.Join(dir, "late")); err == nil {
					t.Error("a child outlived the command")
				}
			}
		})
	}
}

// An error names what has ended the command: the limit, the caller, or the command itself.
func TestRunGroupSaysWhatHasEndedIt(t *testing.T) {
	stopped, stop := context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() { stop(errors.New("a signal")) })
	for name, test := range map[string]struct {
		ctx    context.Context
		limit  time.Duration
		script string
		want   string
	}{
		"the limit":   {t.Context(), 200 * time.Millisecond, "sleep 30; true", "it had not ended after 200ms, and was killed"},
		"the caller":  {stopped, time.Minute, "sleep 30; true", "a signal"},
		"the command": {t.Context(), time.Minute, "exit 3", "exit status 3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := RunGroup(test.ctx, test.limit, io.Discard, "sh", "-c", test.script); err == nil || err.Error() != test.want {
				t.Errorf("%v, want %s", err, test.want)
			}
		})
	}
}
