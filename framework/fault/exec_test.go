package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault/node"
)

// Exec knows the commands by the names that they are given. What they do on a node is proven where they are run for once.
func (m *machine) Exec(_ context.Context, command ...string) ([]byte, error) {
	if m.exec != nil {
		return m.exec(m, command)
	}
	if m.err != nil {
		return nil, m.err
	}
	if s := m.is(); s != clusters.Running {
		return nil, fmt.Errorf("the container is %s", s)
	}
	n, verb, args := &m.network, command[3], command[4:]
	n.mu.Lock()
	if n.world.deaf && verb != "knock" && verb != "connect" && verb != "read" && verb != "free" && verb != "pods" && verb != "find-files" {
		verb = ""
	}
	n.mu.Unlock()
	if len(args) > 1 && strings.HasPrefix(args[1], "away-") || slices.Contains([]string{"processes", "end", "away"}, verb) {
		return n.world.component(m, verb, args)
	}
	switch verb {
	case "leave":
		return nil, n.leave(args[1], args[2])
	case "undo":
		return nil, m.undone(args[1])
	case "cut":
		if !m.immortal {
			n.cut(args[0], m.lag)
		}
		return nil, n.err
	case "packet-loss", "latency":
		if n.lacks != "" || m.immortal {
			return []byte(n.lacks), nil
		}
		n.cut(verb, m.lag)
		return nil, n.err
	case "kill-container":
		if !m.immortal {
			n.world.killed(args[0])
		}
		return nil, n.err
	case "find-files":
		return []byte(n.world.filesOf(args)), n.err
	case "connect":
		return []byte(n.connect(args[0])), n.err
	case "knock":
		return []byte(n.knock(args[0]) + "\n"), n.err
	}
	return m.kubelet.command(verb, args)
}

// undone is what the scripts that are left do, by their names.
func (m *machine) undone(name string) error {
	if !m.network.has(name) {
		return nil
	}
	switch name {
	case partitionUndo, "packet-loss", "latency":
		m.network.cut("", 0)
	case pressureUndo:
		if _, err := m.kubelet.command(name, nil); err != nil {
			return err
		}
	}
	m.network.mu.Lock()
	defer m.network.mu.Unlock()
	delete(m.network.left, name)
	return nil
}

// network is a machine's: what its rules drop, and the undos that are left on it.
type network struct {
	world *world
	ip    string
	err   error  // what rules and probes answer
	lacks string // what the script prints that makes a network worse

	mu    sync.Mutex
	rules string // empty: nothing is dropped
	cuts  int    // rules that are on their way are called off by the next
	left  map[string]string
}

func machineIP(n int) string { return fmt.Sprintf("10.0.0.%d", n) }
func podRange(n int) string  { return fmt.Sprintf("10.244.%d.0/24", n) }

func (n *network) leave(name, script string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.left[name] != "" {
		return errors.New("somebody has left it before: run holdfast heal")
	}
	if n.left == nil {
		n.left = map[string]string{}
	}
	n.left[name] = script
	return nil
}

func (n *network) has(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.left[name] != ""
}

func (n *network) cut(rules string, lag time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cuts++
	if lag == 0 {
		n.rules = rules
		return
	}
	mine := n.cuts
	time.AfterFunc(lag, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.cuts == mine {
			n.rules = rules
		}
	})
}

func (n *network) drops() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.HasPrefix(n.rules, "table")
}

// connect is what connections to an address take: a fifth of them are lost, or all are late, where the rules say so.
func (n *network) connect(at string) string {
	var lines strings.Builder
	for i := range probes {
		took := "0.001"
		for _, other := range n.world.nodes {
			if o := &other.(*machine).network; o.ip == at {
				o.mu.Lock()
				if o.rules == "packet-loss" && i%5 == 0 {
					took = "0.000000"
				}
				if o.rules == "latency" {
					took = "0.101"
				}
				o.mu.Unlock()
			}
		}
		lines.WriteString(took + "\n")
	}
	return lines.String()
}

// knock asks the kubelet at an address.
func (n *network) knock(at string) node.Answer {
	for _, other := range n.world.nodes {
		o := other.(*machine)
		switch {
		case o.network.ip != at:
		case o.is() != clusters.Running, o != n.mine() && (n.drops() || o.network.drops()):
			return node.Unanswered
		case strings.HasSuffix(o.kubelet.config, "refuses"):
			return node.Refused
		default:
			return node.Answered
		}
	}
	return node.Unanswered
}

func (n *network) mine() *machine {
	for _, other := range n.world.nodes {
		if m := other.(*machine); &m.network == n {
			return m
		}
	}
	return nil
}
