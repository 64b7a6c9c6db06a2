package kind

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/framework/base/output"
)

// runner is the part of engine.Engine that this package uses.
type runner interface {
	Engine
	Command(ctx context.Context, args ...string) *exec.Cmd
}

var _ runner = (*engine.Engine)(nil)

// address is a container's IP and MAC address in the network of its cluster. Both are empty while the container is not running.
type address struct{ ip, mac string }

func addressOf(ctx context.Context, e runner, container string) (address, error) {
	all, err := addressesOf(ctx, e, container)
	return all[container], err
}

// addressesOf are the addresses of several containers, by their names. The engine is asked once: each question takes it a tenth of a second.
func addressesOf(ctx context.Context, e runner, containers ...string) (map[string]address, error) {
	const format = "{{.Name}} {{range .NetworkSettings.Networks}}{{.IPAddress}} {{.MacAddress}} {{end}}"
	out, err := e.Output(ctx, append([]string{"inspect", "--type", "container", "--format", format}, containers...)...)
	if err != nil {
		return nil, fmt.Errorf("ask %s for the address of %s: %w", e.Name(), strings.Join(containers, ", "), err)
	}
	all := make(map[string]address, len(containers))
	for _, line := range output.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) == 3 {
			all[strings.TrimPrefix(fields[0], "/")] = address{ip: fields[1], mac: fields[2]} // docker prefixes names with a slash
		}
	}
	return all, nil
}

// execute runs a command on a node and returns its standard output.
func execute(ctx context.Context, e runner, node string, command ...string) ([]byte, error) {
	return e.Output(ctx, append([]string{"exec", "--privileged", node}, command...)...)
}

// Containers are the engine's ids of the nodes' containers, by the nodes' names. Each control group of a container has its id in its name. It is
// an error if the containers run on another kernel, because this process sees none of its control groups.
func (c *Cluster) Containers(ctx context.Context) (map[string]string, error) {
	if e, real := c.e.(*engine.Engine); real && e.Elsewhere() {
		return nil, fmt.Errorf("the containers of %s run on another machine", e.Name())
	}
	args := []string{"inspect", "--type", "container", "--format", "{{.Name}} {{.Id}}"}
	for _, n := range c.nodes {
		args = append(args, n.name)
	}
	out, err := c.e.Output(ctx, args...)
	if err != nil {
		return nil, fmt.Errorf("ask %s for the ids of the nodes' containers: %w", c.e.Name(), err)
	}
	ids := make(map[string]string)
	for _, line := range output.Lines(string(out)) {
		if name, id, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			ids[strings.TrimPrefix(name, "/")] = id
		}
	}
	return ids, nil
}
