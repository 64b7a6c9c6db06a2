package engine

import (
	"context"
	"fmt"
	"strings"
)

// RemoveProbes removes the containers and images that a Find left behind when it was killed during its proof. A proof that runs
// concurrently in another process fails.
func (e *Engine) RemoveProbes(ctx context.Context) error {
	for _, step := range []struct{ list, remove []string }{
		{[]string{"ps", "--all", "--quiet"}, []string{"rm", "--force", "--volumes"}},
		{[]string{"images", "--quiet"}, []string{"rmi", "--force"}},
	} {
		answer, err := e.Output(ctx, append(step.list, "--filter", "label="+Label+"=probe")...)
		if err != nil {
			return fmt.Errorf("list probes: %w", err)
		}
		found := strings.Fields(string(answer))
		if len(found) == 0 {
			continue
		}
		if _, err := e.Output(ctx, append(step.remove, found...)...); err != nil {
			return fmt.Errorf("remove probes: %w", err)
		}
	}
	return nil
}
