package node

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestEveryUndoIsRun, in a real shell: one that fails keeps none of the others from being run, nor its timer from going on.
func TestEveryUndoIsRun(t *testing.T) {
	s := newShell(t)
	if did, err := RunUndos(t.Context(), s); err != nil || len(did) != 0 {
		t.Errorf("where nobody ever left one: %v, %q", err, did)
	}
	broken := filepath.Join(t.TempDir(), "broken")
	must(t, LeaveUndo(t.Context(), s, "a", "true", time.Minute))
	must(t, LeaveUndo(t.Context(), s, "b", "[ ! -e "+broken+" ] || { echo no >&2; false; }", 0))
	must(t, LeaveUndo(t.Context(), s, "c", "true", 0))
	must(t, os.WriteFile(filepath.Join(s.folder, "Not one"), nil, 0o600))
	must(t, os.WriteFile(filepath.Join(s.folder, ".d.part"), nil, 0o600))
	must(t, os.WriteFile(broken, nil, 0o600))
	s.asked()
	did, err := RunUndos(t.Context(), s)
	want := []string{"ran the undo a on w1", "ran the undo c on w1"}
	if err == nil || err.Error() != "run the undo b on w1: exit status 1: no" || !slices.Equal(did, want) {
		t.Errorf("%v, did %q", err, did)
	}
	if strings.Contains(s.asked(), "list-units") {
		t.Error("timers were looked for, and one of them may be the last hope")
	}
	must(t, os.Remove(broken))
	s.write("systemctl", fmt.Sprintf("#!/bin/sh\n[ \"$1\" != list-units ] || echo 'holdfast-undo-x.timer loaded active waiting'\necho \"$@\" >>%s/asked\n", s.bin))
	did, err = RunUndos(t.Context(), s)
	want = []string{"ran the undo b on w1", "removed holdfast-undo-x.timer on w1"}
	if err != nil || !slices.Equal(did, want) || !strings.Contains(s.asked(), "stop holdfast-undo-x.timer") || s.left() != "Not one 600" {
		t.Errorf("%v, did %q, left: %s", err, did, s.left())
	}
}
