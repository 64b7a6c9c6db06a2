package kind

import (
	"context"
	"fmt"
	"strings"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/output"
)

// Engine is the part of engine.Engine that this package uses.
type Engine interface {
	Name() string
	Output(ctx context.Context, args ...string) ([]byte, error)
}

// lines runs the engine and returns the non-empty lines of its output.
func lines(ctx context.Context, e Engine, args ...string) ([]string, error) {
	out, err := e.Output(ctx, args...)
	if err != nil {
		return nil, err
	}
	return output.Lines(string(out)), nil
}

// stateOf asks the engine for the state of a container.
func stateOf(ctx context.Context, e Engine, container string) (clusters.NodeState, error) {
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

// isGone reports whether an engine refused because the object does not exist.
func isGone(err error) bool {
	text := strings.ToLower(err.Error())
	return strings.Contains(text, "no such") || strings.Contains(text, "not found") || strings.Contains(text, "no container with")
}
