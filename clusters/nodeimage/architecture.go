package nodeimage

import (
	"context"
	"fmt"
	"strings"

	"github.com/holdfast-ha/holdfast/clusters/engine"
)

// architecture is that of the machine on which the engine runs containers, such as "amd64". It may be another machine than this one, or a virtual
// machine on it.
func architecture(ctx context.Context, e Asker) (string, error) {
	format := "{{.Host.Arch}}"
	if e.Name() == "docker" {
		format = "{{.Architecture}}"
	}
	out, err := e.Output(ctx, "info", "--format", format)
	if err != nil {
		return "", fmt.Errorf("ask %s for its architecture: %w", e.Name(), err)
	}
	said := strings.TrimSpace(string(out))
	if said == "" {
		return "", fmt.Errorf("ask %s for its architecture: it reports none", e.Name())
	}
	return engine.GoArch(said), nil
}
