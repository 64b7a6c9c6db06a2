package node

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestKnocking runs what is run on nodes: a port that takes connections answers, and one that nobody listens on refuses.
func TestKnocking(t *testing.T) {
	// macOS has no timeout. Here both answers come at once.
	if _, err := exec.LookPath("timeout"); err != nil {
		s := newShell(t)
		s.write("timeout", "#!/bin/sh\nshift\nexec \"$@\"\n")
		t.Setenv("PATH", s.bin+":"+os.Getenv("PATH"))
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	_, open, _ := net.SplitHostPort(l.Addr().String())
	knocked := func() string {
		script := strings.ReplaceAll(knockScript, "10250", open)
		out, err := exec.CommandContext(t.Context(), "sh", "-c", script, "knock", "127.0.0.1").Output()
		must(t, err)
		return strings.TrimSpace(string(out))
	}
	if got := knocked(); got != string(Answered) {
		t.Errorf("while somebody listens: %s", got)
	}
	must(t, l.Close())
	if got := knocked(); got != string(Refused) {
		t.Errorf("while nobody listens: %s", got)
	}
}
