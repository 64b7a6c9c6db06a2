package process

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A command is the leader of a session of its own, which has no terminal: ssh and sudo, which ask for a password there, fail, and are not stopped until the
// limit. So is a shell that was started by a shell.
func TestRunGroupHasNoTerminal(t *testing.T) {
	for name, script := range map[string]string{"the command": "cat /proc/$$/stat", "its child": "sh -c 'cat /proc/$$/stat; true'; true"} {
		var out bytes.Buffer
		if err := RunGroup(t.Context(), time.Minute, &out, "sh", "-c", "echo $$; "+script); err != nil {
			t.Fatal(err)
		}
		leader, stat, _ := strings.Cut(out.String(), "\n")
		fields := strings.Fields(stat[strings.LastIndex(stat, ")")+1:]) // state, parent, group, session, terminal
		if terminal, err := strconv.Atoi(fields[4]); err != nil || terminal != 0 || fields[3] != leader {
			t.Errorf("%s %s has session %s and terminal %s", name, leader, fields[3], fields[4])
		}
	}
}
