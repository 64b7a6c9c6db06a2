package node

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters"
)

// Network is how some nodes are reached from another one.
type Network struct {
	// Outside is the other node: the one that carries the load, which no fault touches, or another one that stays.
	Outside clusters.Node
	// Peers are the addresses and address ranges of several nodes, which may go on to talk to each other.
	Peers []string

	nodes   []clusters.Node
	address map[string]string // by node
}

// NewNetwork looks up the addresses of nodes, and picks a node to look from.
func NewNetwork(ctx context.Context, cluster clusters.Cluster, client kubernetes.Interface, nodes []clusters.Node) (*Network, error) {
	c := &Network{nodes: nodes, address: map[string]string{}}
	for _, n := range cluster.Nodes() {
		ours := slices.ContainsFunc(nodes, func(other clusters.Node) bool { return other.Name() == n.Name() })
		if !ours && (c.Outside == nil || n.Role() == clusters.LoadNode) {
			c.Outside = n
		}
	}
	if c.Outside == nil {
		return nil, errors.New("there is no node that would stay")
	}
	for _, n := range append(slices.Clone(nodes), c.Outside) {
		o, err := client.CoreV1().Nodes().Get(ctx, n.Name(), metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("read node %s: %w", n.Name(), err)
		}
		at, err := InternalIPv4(o)
		if err != nil {
			return nil, err
		}
		c.address[n.Name()] = at
		if n.Name() == c.Outside.Name() || len(nodes) == 1 {
			continue
		}
		c.Peers = append(c.Peers, at)
		if prefix, err := netip.ParsePrefix(o.Spec.PodCIDR); err == nil && prefix.Addr().Is4() {
			c.Peers = append(c.Peers, prefix.String())
		}
	}
	return c, nil
}

// Closed reports whether no probe passes although the nodes run.
func (c *Network) Closed(ctx context.Context) (closed bool, saw string, err error) {
	for _, n := range c.nodes {
		state, err := n.State(ctx)
		if err != nil || state != clusters.Running { // and nothing can be run on it
			return false, fmt.Sprintf("the engine says %s is %s", n.Name(), state), err
		}
		in, out, own, err := c.probe(ctx, n)
		if err != nil {
			return false, "", err
		}
		if in != Unanswered || out != Unanswered || own != Answered {
			return false, c.words(n, in, out, own), nil
		}
	}
	return true, "no probe passes between " + c.Outside.Name() + " and " + strings.Join(Names(c.nodes), ", ") +
		", in either direction; " + OfEach(c.nodes, "%s runs, and its kubelet answers on the spot"), nil
}

// Open reports whether all probes pass.
func (c *Network) Open(ctx context.Context) (open bool, saw string, err error) {
	var words []string
	open = true
	for _, n := range c.nodes {
		in, out, own, err := c.probe(ctx, n)
		if err != nil {
			return false, "", err
		}
		open = open && in == Answered && out == Answered && own == Answered
		words = append(words, c.words(n, in, out, own))
	}
	return open, strings.Join(words, "; "), nil
}

// words say what became of a node's probes.
func (c *Network) words(n clusters.Node, in, out, own Answer) string {
	return fmt.Sprintf("probes of %s from %s: %s; the other way: %s; on the spot: %s", n.Name(), c.Outside.Name(), in, out, own)
}

// probe asks for a connection to a node's kubelet from another node, from the node to the other node's kubelet, and from the node to its
// own kubelet.
func (c *Network) probe(ctx context.Context, n clusters.Node) (in, out, own Answer, err error) {
	if in, err = knockAt(ctx, c.Outside, c.address[n.Name()]); err != nil {
		return "", "", "", err
	}
	if out, err = knockAt(ctx, n, c.address[c.Outside.Name()]); err != nil {
		return "", "", "", err
	}
	own, err = knockAt(ctx, n, c.address[n.Name()])
	return in, out, own, err
}

// Answer is what became of a packet that asks a kubelet's port for a connection.
type Answer string

// The answers.
const (
	Answered   Answer = "answered"
	Refused    Answer = "refused" // by a machine that is there
	Unanswered Answer = "unanswered"
)

// knockScript takes the address as $1, and waits a second: within a cluster an answer takes a millisecond.
const knockScript = `timeout 1 bash -c ': <"/dev/tcp/$0/10250"' "$1" 2>/dev/null; case $? in 0) echo answered;; 124) echo unanswered;; *) echo refused;; esac`

// knockAt asks from a node for a connection to the kubelet at an address.
func knockAt(ctx context.Context, from clusters.Node, address string) (Answer, error) {
	out, err := from.Exec(ctx, "sh", "-c", knockScript, "knock", address)
	if err != nil {
		return "", fmt.Errorf("probe %s from %s: %w", address, from.Name(), err)
	}
	k := Answer(strings.TrimSpace(string(out)))
	if k != Answered && k != Refused && k != Unanswered {
		return "", fmt.Errorf("probe %s from %s: it says %q", address, from.Name(), k)
	}
	return k, nil
}

// probesScript prints how long each connection to the kubelet at $1 took, in seconds; 0 if there was none within 0.9 s. A lost
// packet is sent again after a second.
const probesScript = `i=0; while [ $i -lt "$2" ]; do i=$((i+1)); curl --insecure --silent --output /dev/null --noproxy '*' \
	--connect-timeout 0.9 --max-time 0.95 --write-out '%{time_connect}\n' "https://$1:10250/healthz"; done; true`

// Connect opens connections to a node's kubelet from another node, and returns how long each took.
func (c *Network) Connect(ctx context.Context, n clusters.Node, count int) (times []time.Duration, err error) {
	out, err := c.Outside.Exec(ctx, "sh", "-c", probesScript, "connect", c.address[n.Name()], strconv.Itoa(count))
	if err != nil {
		return nil, fmt.Errorf("probe %s from %s: %w", n.Name(), c.Outside.Name(), err)
	}
	for _, line := range strings.Fields(string(out)) {
		seconds, err := strconv.ParseFloat(line, 64)
		if err != nil {
			return nil, fmt.Errorf("probe %s from %s: it says %q", n.Name(), c.Outside.Name(), line)
		}
		times = append(times, time.Duration(seconds*float64(time.Second)))
	}
	if len(times) != count {
		return nil, fmt.Errorf("probe %s from %s: it reports %d connections, not %d", n.Name(), c.Outside.Name(), len(times), count)
	}
	return times, nil
}
