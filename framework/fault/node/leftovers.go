package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/clusters"
)

// undoLimit bounds how many undos a node is asked for: there are as many names as there are faults.
const undoLimit = 100

// The commands that look for what is left on a node; $1 is the folder.
const (
	listUndosScript = `[ ! -d "$1" ] || ls "$1"`
	// calmScript removes timers without a script, and scripts that were half written.
	calmScript = `[ ! -d "$1" ] || rm -f "$1"/.*.part
for unit in $(systemctl list-units --all --plain --no-legend 'holdfast-undo-*.timer' | cut -d ' ' -f 1); do
	systemctl stop "$unit" && echo "$unit"
done`
)

// RunUndos runs every undo that faults have left on a node, and removes their timers. It says what it did, also with an error:
// one that fails keeps none of the others from being run.
func RunUndos(ctx context.Context, n clusters.Node) (did []string, err error) {
	names, err := LeftUndos(ctx, n)
	if err != nil {
		return nil, err
	}
	var failed []error
	for _, name := range names {
		if err := RunUndo(ctx, n, name); err != nil {
			failed = append(failed, err)
			continue
		}
		did = append(did, "ran the undo "+name+" on "+n.Name())
	}
	if len(failed) > 0 { // their timers go on
		return did, errors.Join(failed...)
	}
	out, err := n.Exec(ctx, "sh", "-c", calmScript, "calm", undoFolder)
	if err != nil {
		return did, fmt.Errorf("remove timers on %s: %w", n.Name(), err)
	}
	for _, unit := range strings.Fields(string(out)) {
		did = append(did, "removed "+unit+" on "+n.Name())
	}
	return did, nil
}

// LeftUndos names the undos that faults have left on a node: what they undo may be in force.
func LeftUndos(ctx context.Context, n clusters.Node) ([]string, error) {
	out, err := n.Exec(ctx, "sh", "-c", listUndosScript, "list", undoFolder)
	if err != nil {
		return nil, fmt.Errorf("look for undos on %s: %w", n.Name(), err)
	}
	names := slices.DeleteFunc(strings.Split(string(out), "\n"), func(name string) bool { return !undoName.MatchString(name) })
	if len(names) > undoLimit {
		return nil, fmt.Errorf("look for undos on %s: %d are no faults of ours; see %s there", n.Name(), len(names), undoFolder)
	}
	return names, nil
}
