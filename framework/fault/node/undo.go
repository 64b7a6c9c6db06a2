package node

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
)

// undoFolder is where a node keeps undo scripts, one for each fault. The scripts outlive a harness that is killed, and `holdfast heal`
// runs the scripts that it finds. The folder lies on the node's disk, and so it outlives the node's processes, too.
const undoFolder = "/var/lib/holdfast/undo"

// undoName keeps a name from being anything but a file's and a unit's.
var undoName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// The commands that keep undos on a node; $1 is the folder, $2 the name.
const (
	// runUndoScript runs one undo at a time, since a timer may run it at the same moment; the lock is on the folder, and what
	// the script starts does not inherit it. A script that ends well is done with; one that does not is kept, with its timer.
	runUndoScript = `[ -d "$1" ] || exit 0
flock -o -w 60 "$1" sh -c '[ ! -e "$0" ] || { sh "$0" >&2 && rm -f "$0"; }' "$1/$2" || exit 1
systemctl stop "holdfast-undo-$2.timer" 2>/dev/null || :`
	// leaveUndoScript takes the script as $3, the seconds until the node runs it by itself as $4 (0: never), and what it then
	// runs as $5. A link is made at once or not at all, and not over another's. A timer is exact to a minute unless told.
	leaveUndoScript = `set -e; umask 022; mkdir -p "$1"
part="$1/.$2.part"; printf '%s\n' "$3" >"$part"; chmod 755 "$part"
if ! ln "$part" "$1/$2"; then rm -f "$part"; echo "somebody has left it before: run holdfast heal" >&2; exit 1; fi
rm "$part"
[ "$4" -eq 0 ] || systemd-run --quiet --collect --unit="holdfast-undo-$2" --on-active="${4}s" \
	--timer-property=AccuracySec=1s /bin/sh -c "$5" undo "$1" "$2" || { rm -f "$1/$2"; exit 1; }`
)

// LeaveUndo stores a POSIX shell script on a node, before a fault does what the script undoes. Any process may run the script, and
// more than once. With after > 0 the node runs it by itself when that much time has passed: a dead-man's switch, for a node that
// may be unreachable. A name that is taken is an error: the script that is there undoes something that is still in force.
//
// Source: https://www.freedesktop.org/software/systemd/man/latest/systemd-run.html
func LeaveUndo(ctx context.Context, n clusters.Node, name, script string, after time.Duration) error {
	if !undoName.MatchString(name) {
		return fmt.Errorf("store undo script on %s: invalid name %q", n.Name(), name)
	}
	seconds := strconv.Itoa(int((after + time.Second - 1) / time.Second))
	_, err := n.Exec(ctx, "sh", "-c", leaveUndoScript, "leave", undoFolder, name, script, seconds, runUndoScript)
	if err != nil {
		return fmt.Errorf("leave the undo %s on %s: %w", name, n.Name(), err)
	}
	return nil
}

// RunUndo runs a script that was left on a node, and removes it and its timer. Without such a script it does nothing.
func RunUndo(ctx context.Context, n clusters.Node, name string) error {
	if !undoName.MatchString(name) {
		return fmt.Errorf("run undo script on %s: invalid name %q", n.Name(), name)
	}
	if _, err := n.Exec(ctx, "sh", "-c", runUndoScript, "undo", undoFolder, name); err != nil {
		return fmt.Errorf("run the undo %s on %s: %w", name, n.Name(), err)
	}
	return nil
}
