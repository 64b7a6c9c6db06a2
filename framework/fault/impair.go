package fault

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/poll"
)

// impairment makes a worker's network worse, and takes nothing away: what it hits are packets. Its witness asks from another
// node for connections, and counts those that it hit.
type impairment struct {
	name    string // of the undo
	what    string // for NotSupported
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

// probesScript prints how long each connection to the kubelet at $1 took, in seconds; 0 if there was none within 0.9 s. A lost
// packet is sent again after a second.
const probesScript = `i=0; while [ $i -lt "$2" ]; do i=$((i+1)); curl --insecure --silent --output /dev/null --noproxy '*' \
	--connect-timeout 0.9 --max-time 0.95 --write-out '%{time_connect}\n' "https://$1:10250/healthz"; done; true`

// notHere are the words in which a kernel, or what stands for it, says that it has no such thing.
var notHere = []string{"qdisc kind is unknown", "Operation not supported", "No such file or directory", "not found"}

func (t Target) impair(ctx context.Context, by impairment, worker int) (Heal, error) {
	node, pods, err := t.oneWorker(ctx, worker)
	if err != nil {
		return nothing, err
	}
	c, err := t.cut(ctx, []clusters.Node{node})
	if err != nil {
		return nothing, err
	}
	look := func(ctx context.Context) (hit int, saw string, err error) {
		times, err := c.connect(ctx, node)
		hit = by.hits(times)
		return hit, fmt.Sprintf("of %d connections from %s to %s, %d %s", len(times), c.outside.Name(), node.Name(), hit, by.words), err
	}
	switch hit, saw, err := look(ctx); { // what is so without us proves nothing
	case err != nil:
		return nothing, err
	case hit >= by.atLeast:
		return nothing, fmt.Errorf("it is so already: %s", saw)
	}
	whole, _, err := t.look(ctx)
	if err != nil {
		return nothing, err
	}
	heal := once(func(ctx context.Context) error {
		if err := runUndo(ctx, node, by.name); err != nil {
			return err
		}
		var witness string
		err := poll.Until(ctx, node.Name()+" to be reached as before", impairLimit, func(ctx context.Context) (bool, string, error) {
			hit, saw, err := look(ctx)
			witness = saw
			return err == nil && hit < by.atLeast, saw, err
		})
		if err != nil {
			return err
		}
		return t.healed(ctx, witness, whole) // a node that is hard to reach may have been given up
	})
	if err := leaveUndo(ctx, node, by.name, by.undo, partitionLimit); err != nil {
		return nothing, err
	}
	if _, err := node.Exec(ctx, "sh", "-c", by.command, by.name); err != nil {
		for _, words := range notHere {
			if strings.Contains(err.Error(), words) {
				return heal, &NotSupported{What: by.what, Why: err.Error()}
			}
		}
		return heal, err
	}
	var hit int
	var witness string
	err = poll.Until(ctx, node.Name()+" to be hard to reach", impairLimit, func(ctx context.Context) (_ bool, _ string, err error) {
		hit, witness, err = look(ctx)
		return hit >= by.atLeast, witness, err
	})
	if err != nil {
		return heal, err
	}
	t.Record.Hit(hit)
	t.Record.Seen([]string{node.Name()}, pods, witness)
	t.Record.Lasts(func(ctx context.Context) (bool, string, error) {
		hit, saw, err := look(ctx)
		return hit > 0, saw, err
	})
	return heal, nil
}

// connect asks from elsewhere for connections to a node's kubelet, and tells how long each took.
func (c cut) connect(ctx context.Context, n clusters.Node) (times []time.Duration, err error) {
	out, err := c.outside.Exec(ctx, "sh", "-c", probesScript, "connect", c.address[n.Name()], strconv.Itoa(probes))
	if err != nil {
		return nil, fmt.Errorf("probe %s from %s: %w", n.Name(), c.outside.Name(), err)
	}
	for _, line := range strings.Fields(string(out)) {
		seconds, err := strconv.ParseFloat(line, 64)
		if err != nil {
			return nil, fmt.Errorf("probe %s from %s: it says %q", n.Name(), c.outside.Name(), line)
		}
		times = append(times, time.Duration(seconds*float64(time.Second)))
	}
	if len(times) != probes {
		return nil, fmt.Errorf("probe %s from %s: it tells of %d connections, not of %d", n.Name(), c.outside.Name(), len(times), probes)
	}
	return times, nil
}
