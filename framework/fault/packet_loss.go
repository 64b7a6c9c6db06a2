package fault

import (
	"context"
	"fmt"
	"time"
)

// PacketLoss loses some of the packets, at random, that come to a worker which carries pods of the workload, and as many of those
// that leave it. Connections stay open: lost packets are sent again later. The node reverts it by itself after a while, as with Partition.
//
// Source: https://wiki.nftables.org/wiki-nftables/index.php/Math_operations
type PacketLoss struct {
	// Percent of the packets, in each direction, from 1 to 99.
	Percent int
	// Worker picks the n-th worker by name, from 1, whether it carries pods or not. 0 picks one that does, at random.
	Worker int
}

func (l PacketLoss) String() string {
	if l.Worker > 0 {
		return fmt.Sprintf("loss of %d %% of packets at worker %d", l.Percent, l.Worker)
	}
	return fmt.Sprintf("loss of %d %% of packets at one worker", l.Percent)
}

// lossTable is a table of its own: a node may be cut off as well.
const lossTable = "inet holdfast_loss"

// Plan implements Fault.
func (l PacketLoss) Plan(ctx context.Context, t Target) (Disruption, error) {
	if l.Percent < 1 || l.Percent > 99 {
		return nil, fmt.Errorf("%s: it must be from 1 to 99", l)
	}
	rule := fmt.Sprintf("numgen random mod 100 < %d counter drop", l.Percent)
	d, err := t.impair(ctx, impairment{
		name: "packet-loss", what: "random loss by nftables", tool: "nft",
		command: "nft -f - <<'EOF'\ntable " + lossTable + " {\n" +
			"\tchain in { type filter hook prerouting priority -300; iifname \"eth0\" " + rule + "; }\n" +
			"\tchain out { type filter hook postrouting priority 300; oifname \"eth0\" " + rule + "; }\n}\nEOF\n",
		undo: "if nft list table " + lossTable + " >/dev/null 2>&1; then nft delete table " + lossTable + "; fi",
		hits: func(connections []time.Duration) (n int) {
			for _, took := range connections {
				if took == 0 {
					n++
				}
			}
			return n
		},
		atLeast: 2, words: "got no answer to their first packet",
	}, l.Worker)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l, err)
	}
	return d, nil
}
