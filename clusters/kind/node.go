package kind

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/engine"
)

const (
	// actWithin bounds an engine's action on one container. Measured: well below a second; a busy machine is slower.
	actWithin = 30 * time.Second
	// actAfterAll is how long witnesses may take to see an effect although the engine reported an error. Usually the engine is
	// right.
	actAfterAll = 5 * time.Second
	// stopWithin is how long systemd has for a graceful shutdown of a node before the engine kills it.
	stopWithin = 20 * time.Second
	// startWithin bounds the start of a node. Measured: 5 to 10 s on 2 CPUs; a control plane takes longest.
	startWithin = 3 * time.Minute
)

// kubeletPort serves HTTPS on every node.
const kubeletPort = "10250"

// Node is one container of a cluster.
type Node struct {
	member
	cluster *Cluster
	holds   sync.Map // references of images that the node was seen to have

	mu sync.Mutex
	at address // last known address: a stopped node has none
}

// Name is the name of the container and of the Kubernetes node.
func (n *Node) Name() string { return n.name }

// Role says what the node is for.
func (n *Node) Role() clusters.Role { return n.role }

// Zone is the value of the zone label.
func (n *Node) Zone() string { return n.zone }

// Kill sends SIGKILL to the node's init process, upon which the kernel kills every process of the node.
func (n *Node) Kill(ctx context.Context) error {
	return n.take(ctx, "kill", clusters.Exited, "kill", "--signal", "KILL", n.name)
}

// Stop lets systemd stop the node's services, and kills the node if that takes longer than stopWithin.
func (n *Node) Stop(ctx context.Context) error {
	return n.take(ctx, "stop", clusters.Exited, "stop", "-t", strconv.Itoa(int(stopWithin/time.Second)), n.name)
}

// Pause freezes the node's cgroup. The kernel still accepts connections, but no process answers them.
func (n *Node) Pause(ctx context.Context) error {
	return n.take(ctx, "pause", clusters.Paused, "pause", n.name)
}

// Resume unfreezes the node, and returns when its kubelet answers.
func (n *Node) Resume(ctx context.Context) error {
	return n.act(ctx, "resume", clusters.Running, false, "unpause", n.name)
}

// take runs an action that silences the node.
func (n *Node) take(ctx context.Context, verb string, want clusters.NodeState, args ...string) error {
	return n.act(ctx, verb, want, true, args...)
}

// act runs one engine command, and returns when both the engine and another node have seen its effect.
func (n *Node) act(ctx context.Context, verb string, want clusters.NodeState, silent bool, args ...string) error {
	if err := n.learnAddress(ctx); err != nil {
		return fmt.Errorf("%s %s: %w", verb, n.name, err)
	}
	bounded, cancel := context.WithTimeout(ctx, actWithin+stopWithin)
	defer cancel()
	_, refused := n.cluster.e.Output(bounded, args...)
	within := actWithin
	if refused != nil { // on a starved machine podman was seen to kill a container but to time out waiting for its exit
		within = actAfterAll
	}
	err := settle(ctx, "its effect", within, func(ctx context.Context) []string {
		state, err := n.State(ctx)
		if err != nil {
			return []string{err.Error()}
		}
		if state != want {
			if want == clusters.Exited {
				n.letDie(ctx)
			}
			return []string{fmt.Sprintf("%s says it is %s, not %s", n.cluster.e.Name(), state, want)}
		}
		return n.expectSilence(ctx, silent)
	})
	switch {
	case err != nil && refused != nil:
		return fmt.Errorf("%s %s: %w", verb, n.name, refused)
	case err != nil:
		return fmt.Errorf("%[2]s %[1]s: %[3]w", n.name, verb, err)
	case refused != nil:
		n.cluster.log.Warn("the engine reported an error, but the witnesses saw the effect", "node", n.name, "verb", verb, "error", refused)
	}
	return nil
}

// letDie unfreezes processes of a killed node. An error is only logged: usually nothing is frozen, and the caller checks anyway
// whether the node exits.
func (n *Node) letDie(ctx context.Context) {
	id, err := n.cluster.e.Output(ctx, "inspect", "--type", "container", "--format", "{{.Id}}", n.name)
	if err == nil {
		err = unfreeze(n.cluster.freezers, string(id))
	}
	if err != nil {
		n.cluster.log.Debug("thaw a node that was killed", "node", n.name, "error", err)
	}
}

func (n *Node) expectSilence(ctx context.Context, want bool) []string {
	silent, err := n.Silent(ctx)
	switch {
	case err != nil:
		return []string{err.Error()}
	case silent && !want:
		return []string{"its kubelet does not answer"}
	case !silent && want:
		return []string{"its kubelet still answers"}
	}
	return nil
}

// State is the container state that the engine reports.
func (n *Node) State(ctx context.Context) (clusters.NodeState, error) {
	return stateOf(ctx, n.cluster.e, n.name)
}

// Silent probes from another node. It requires an HTTP response, because the kernel of a frozen node still accepts connections.
func (n *Node) Silent(ctx context.Context) (bool, error) {
	ip := n.lastIP()
	if ip == "" {
		return false, fmt.Errorf("probe %s: its address is unknown", n.name)
	}
	from, err := n.cluster.other(ctx, n)
	if err != nil {
		return false, err
	}
	// The HTTP status does not matter. curl prints 000 if there was no response. `true` prevents curl's exit status from
	// looking like an error of the engine.
	const ask = `curl --insecure --silent --output /dev/null --noproxy '*' --max-time 1 --write-out '%{http_code}' "$1" || true`
	out, err := from.Exec(ctx, "bash", "-c", ask, "ask", "https://"+ip+":"+kubeletPort+"/healthz")
	if err != nil {
		return false, fmt.Errorf("probe %s: %w", n.name, err)
	}
	status := strings.TrimSpace(string(out))
	if _, err := strconv.Atoi(status); err != nil {
		return false, fmt.Errorf("probe %s: curl on %s printed %q", n.name, from.name, status)
	}
	return status == "000", nil
}

// Exec runs a command on the node as root with full privileges, and returns its standard output.
func (n *Node) Exec(ctx context.Context, command ...string) ([]byte, error) {
	out, err := execute(ctx, n.cluster.e, n.name, command...)
	if err != nil {
		return out, fmt.Errorf("run a command on %s: %w", n.name, err)
	}
	return out, nil
}

// Feed runs a command on the node as root with full privileges, and gives it a standard input.
func (n *Node) Feed(ctx context.Context, input io.Reader, command ...string) error {
	cmd := n.cluster.e.Command(ctx, append([]string{"exec", "--privileged", "--interactive", n.name}, command...)...)
	var said bytes.Buffer
	cmd.Stdin, cmd.Stderr = input, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run a command on %s: %w: %s", n.name, errors.Join(err, context.Cause(ctx)), tail(said.String(), 2))
	}
	return nil
}

// learnAddress records the node's current address, if it has one.
func (n *Node) learnAddress(ctx context.Context) error {
	at, err := addressOf(ctx, n.cluster.e, n.name)
	if err != nil {
		return err
	}
	n.learn(at)
	return nil
}

// learn keeps an address, unless it is empty.
func (n *Node) learn(at address) {
	if at.ip != "" {
		n.mu.Lock()
		n.at = at
		n.mu.Unlock()
	}
}

func (n *Node) lastIP() string { return n.lastAddress().ip }

func (n *Node) lastAddress() address {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.at
}

// pinAddress gives a stopped node its previous address. Otherwise the engine would assign the next free address at the start,
// and other nodes and clients that know the node by its address could not reach it.
func (n *Node) pinAddress(ctx context.Context) error {
	at := n.lastAddress()
	if at.ip == "" {
		return nil // the address is unknown because this process attached while the node was down; kind's entrypoint handles a new one
	}
	e, network := n.cluster.e, prefix+n.cluster.name
	connect := []string{"network", "connect", "--ip", at.ip}
	if e.Name() == engine.Podman {
		connect = append(connect, "--mac-address", at.mac) // so that ARP entries on other nodes stay valid
	}
	if _, err := e.Output(ctx, "network", "disconnect", network, n.name); err != nil {
		return fmt.Errorf("pin %s to %s: %w", n.name, at.ip, err)
	}
	_, err := e.Output(ctx, append(connect, network, n.name)...)
	if err == nil {
		return nil
	}
	// The node can come back with another address, but not without a network.
	if _, plainErr := e.Output(ctx, "network", "connect", network, n.name); plainErr != nil {
		return fmt.Errorf("pin %s to %s: %w", n.name, at.ip, errors.Join(err, plainErr))
	}
	n.cluster.log.Warn("a node changes its address", "node", n.name, "was", at.ip, "error", err)
	return nil
}
