package fault

import (
	"context"
	"fmt"
	"time"
)

// Latency delays every packet that leaves a worker which carries pods of the workload. It needs netem, which some kernels lack:
// then the error is a NotSupported. The node reverts it by itself after a while, as with Partition.
//
// Source: https://man7.org/linux/man-pages/man8/tc-netem.8.html
type Latency struct {
	Delay time.Duration // in whole milliseconds, well below a second: a witness waits no longer
	// Worker picks the n-th worker by name, from 1, whether it carries pods or not. 0 picks one that does, at random.
	Worker int
}

func (l Latency) String() string {
	if l.Worker > 0 {
		return fmt.Sprintf("%s more from worker %d", l.Delay, l.Worker)
	}
	return l.Delay.String() + " more from one worker"
}

// Plan implements Fault.
func (l Latency) Plan(ctx context.Context, t Target) (Disruption, error) {
	if l.Delay < time.Millisecond || l.Delay > 500*time.Millisecond {
		return nil, fmt.Errorf("%s: it must be from 1 to 500 ms", l)
	}
	d, err := t.impair(ctx, impairment{
		name: "latency", what: "latency by tc netem", tool: "tc",
		command: fmt.Sprintf("tc qdisc add dev eth0 root netem delay %dms", l.Delay.Milliseconds()),
		undo:    "if tc qdisc show dev eth0 | grep -q netem; then tc qdisc del dev eth0 root; fi",
		hits: func(connections []time.Duration) (n int) {
			for _, took := range connections {
				if took >= l.Delay {
					n++
				}
			}
			return n
		},
		atLeast: probes * 3 / 4, words: "took " + l.Delay.String() + " or longer",
	}, l.Worker)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l, err)
	}
	return d, nil
}
