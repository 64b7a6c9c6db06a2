package kind

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/engine"
)

// runner is the part of engine.Engine that this package uses.
type runner interface {
	Name() string
	Command(ctx context.Context, args ...string) *exec.Cmd
	Output(ctx context.Context, args ...string) ([]byte, error)
}

var _ runner = (*engine.Engine)(nil)

// lines runs the engine and returns the non-empty lines of its output.
func lines(ctx context.Context, e runner, args ...string) ([]string, error) {
	out, err := e.Output(ctx, args...)
	if err != nil {
		return nil, err
	}
	return nonEmpty(string(out)), nil
}

func nonEmpty(text string) []string {
	var kept []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			kept = append(kept, line)
		}
	}
	return kept
}

// stateOf asks the engine for the state of a container.
func stateOf(ctx context.Context, e runner, container string) (clusters.NodeState, error) {
	out, err := e.Output(ctx, "inspect", "--type", "container", "--format", "{{.State.Status}}", container)
	if err != nil {
		return "", fmt.Errorf("ask %s for the state of %s: %w", e.Name(), container, err)
	}
	return nodeState(strings.TrimSpace(string(out)))
}

// nodeState parses the container state of an engine. A container that is stopping counts as running until it has exited.
func nodeState(word string) (clusters.NodeState, error) {
	switch word {
	case "running", "stopping", "removing", "restarting":
		return clusters.Running, nil
	case "paused":
		return clusters.Paused, nil
	case "exited", "stopped", "created", "configured", "initialized", "dead":
		return clusters.Exited, nil
	}
	return "", fmt.Errorf("unknown container state %q", word)
}

// address is a container's IP and MAC address in the network of its cluster. Both are empty while the container is not running.
type address struct{ ip, mac string }

func addressOf(ctx context.Context, e runner, container string) (address, error) {
	const format = "{{range .NetworkSettings.Networks}}{{.IPAddress}} {{.MacAddress}} {{end}}"
	out, err := e.Output(ctx, "inspect", "--type", "container", "--format", format, container)
	if err != nil {
		return address{}, fmt.Errorf("ask %s for the address of %s: %w", e.Name(), container, err)
	}
	fields := strings.Fields(string(out))
	if len(fields) != 2 {
		return address{}, nil
	}
	return address{ip: fields[0], mac: fields[1]}, nil
}

// execute runs a command on a node and returns its standard output.
func execute(ctx context.Context, e runner, node string, command ...string) ([]byte, error) {
	return e.Output(ctx, append([]string{"exec", "--privileged", node}, command...)...)
}
