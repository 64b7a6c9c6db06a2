package cli

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

// A warning is one line that says what and why. Information is for the detailed log.
func TestWarnings(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(warnings{out: &out})
	log.Info("provision")
	log.With("scenario", "chaos/a").Warn("collect logs", "error", errors.New("no\n\troom"))
	log.Warn("stop", "error", strings.Repeat("long ", 1000))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || lines[0] != "warning: collect logs: no room (scenario chaos/a)" {
		t.Fatalf("got %q", lines)
	}
	if len(lines[1]) > maxWarning+30 || !strings.HasSuffix(lines[1], " ... (see --verbose)") {
		t.Errorf("a long one: %q", lines[1])
	}
}
