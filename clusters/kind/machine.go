package kind

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/clusters/kind/inventory"
)

// runner is the part of engine.Engine that this package uses.
type runner interface {
	inventory.Engine
	Command(ctx context.Context, args ...string) *exec.Cmd
}

var _ runner = (*engine.Engine)(nil)

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
