package kind

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/base/output"
)

// tools are the programs that holdfast runs on nodes, each with what it is for. The node images of kind have them, and so has the image
// that holdfast builds. A program that a single fault needs, such as tc, is looked for by that fault.
var tools = []struct{ name, purpose string }{
	{"bash", "the probes of the cluster's network"},
	{"awk", "the probes of the cluster's network"},
	{"od", "the probes of the cluster's network"},
	{"ip", "the probes of the cluster's network, and addresses of LoadBalancers"},
	{"nsenter", "the probes of the pods' network"},
	{"pgrep", "the probes of the pods' network, and faults of components"},
	{"timeout", "requests that must end"},
	{"curl", "requests to gateways, etcd and API servers"},
	{"nft", "partitions"},
	{"ctr", "images"},
	{"tar", "images"},
	{"sha256sum", "images"},
	{"systemctl", "faults of components"},
	{"systemd-run", "undoing faults on a node that cannot be reached"},
	{"flock", "undoing faults"},
	{"fallocate", "the fault disk pressure"},
}

// lackingScript prints the names that are no programs on the node, then "end". It needs a shell and nothing else.
const lackingScript = `for tool; do command -v "$tool" >/dev/null || echo "$tool"; done; echo end`

// checkTools returns an error that names every program that a node image lacks, and what it is for. Without this check, a pulled image
// that differs from ours would fail in the middle of a run, with whatever the shell says then.
func checkTools(ctx context.Context, e runner, node, image string) error {
	ctx, cancel := context.WithTimeout(ctx, actWithin)
	defer cancel()
	command := []string{"sh", "-c", lackingScript, "lacking"}
	for _, t := range tools {
		command = append(command, t.name)
	}
	out, err := execute(ctx, e, node, command...)
	if err != nil {
		return fmt.Errorf("look for the programs of node image %s: %w", image, err)
	}
	said := output.Lines(string(out))
	if !slices.Contains(said, "end") {
		return fmt.Errorf("look for the programs of node image %s: the answer of %s was cut off: %q", image, node, out)
	}
	var lacking []string
	for _, t := range tools {
		if slices.Contains(said, t.name) {
			lacking = append(lacking, fmt.Sprintf("%s (for %s)", t.name, t.purpose))
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	return fmt.Errorf("node image %s lacks programs that holdfast runs on nodes: %s; "+
		"remove this image from the engine, so that holdfast gets one of kind's or builds one", image, strings.Join(lacking, ", "))
}
