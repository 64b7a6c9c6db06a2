package fault

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault/node"
	"github.com/holdfast-ha/holdfast/framework/history"
)

// impairment makes a worker's network worse without cutting it off. Its witness opens connections from another node, and counts the
// connections that the impairment hit.
type impairment struct {
	name    string // of the undo
	what    string // for NotSupported
	tool    string // that the command calls
	command string // which is run on the node
	undo    string
	hits    func(connections []time.Duration) int // of the witness's connections; zero: it was not made
	atLeast int                                   // of probes must be hit for it to be seen
	words   string                                // what a hit is
}

const (
	// probes are the connections that a witness asks for. Of a loss of one in ten packets each way, none is hit once in 5000 times.
	probes = 40
	// impairLimit bounds how long it may take until it is seen.
	impairLimit = time.Minute
)

// impairScript runs $2, which calls the tool $1, and prints what the tool said if it failed. A node image without the tool is an
// error: it says nothing of the kernel. All of the tool's words count: nft shows the rule that failed below its error.
const impairScript = `command -v "$1" >/dev/null || { echo "$1 is not in the node's image" >&2; exit 1; }
said=$(sh -c "$2" 2>&1) || printf 'refused: %s' "$said"`

func (t Target) impair(ctx context.Context, by impairment, worker int) (*Effect, error) {
	victim, pods, err := t.oneWorker(ctx, worker)
	if err != nil {
		return nil, err
	}
	network, err := node.NewNetwork(ctx, t.Cluster, t.Client, []clusters.Node{victim})
	if err != nil {
		return nil, err
	}
	look := func(ctx context.Context) (hit int, saw string, err error) {
		times, err := network.Connect(ctx, victim, probes)
		hit = by.hits(times)
		return hit, fmt.Sprintf("of %d connections from %s to %s, %d %s", len(times), network.Outside.Name(), victim.Name(), hit, by.words), err
	}
	settled, _, err := t.look(ctx)
	if err != nil {
		return nil, err
	}
	var last string // what the witness saw last
	var left bool   // the undo script on the node is ours
	return &Effect{
		Do: func(ctx context.Context) error {
			if err := node.LeaveUndo(ctx, victim, by.name, by.undo, partitionLimit); err != nil {
				return err
			}
			left = true
			return by.do(ctx, victim)
		},
		See: func(ctx context.Context) (_ bool, _ Observation, err error) {
			var hit int
			hit, last, err = look(ctx)
			return hit >= by.atLeast, Observation{Nodes: []string{victim.Name()}, Pods: pods, Witness: last, Hit: hit}, err
		},
		Ask: func(ctx context.Context) (bool, string, error) {
			hit, saw, err := look(ctx)
			return hit >= by.lasting(), saw, err
		},
		Undo: func(ctx context.Context) error {
			if !left {
				return nil
			}
			return node.RunUndo(ctx, victim, by.name)
		},
		// A node that is hard to reach may have been given up.
		Restore: func(ctx context.Context) (string, error) { return t.restored(settled, last)(ctx) },
		Until:   victim.Name() + " to be hard to reach", Limit: impairLimit,
	}, nil
}

// lasting is how many probes must still be hit before the undo: more than half as many as when it was seen. A loss hits them at
// random, so that the same number would be too much to ask; a single slow probe is what any machine has.
func (by impairment) lasting() int { return by.atLeast/2 + 1 }

// do makes the node's network worse. That the kernel has no such thing is a NotSupported, in the tool's own words.
func (by impairment) do(ctx context.Context, victim clusters.Node) error {
	out, err := victim.Exec(ctx, "sh", "-c", impairScript, by.name, by.tool, by.command)
	if err != nil {
		return err
	}
	said, refused := strings.CutPrefix(string(out), "refused: ")
	switch said = strings.Join(strings.Fields(said), " "); {
	case refused && history.KernelRefused(said):
		return &NotSupported{What: by.what, Why: said}
	case refused:
		return fmt.Errorf("run %s on %s: %s", by.tool, victim.Name(), said)
	case said != "":
		return fmt.Errorf("run %s on %s: it printed %q", by.tool, victim.Name(), said)
	}
	return nil
}
