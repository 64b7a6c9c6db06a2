package engine

import (
	"context"
	"fmt"
	"strings"
)

// Asked is an engine that answers questions; *Engine is one.
type Asked interface {
	Name() string
	Output(ctx context.Context, args ...string) ([]byte, error)
}

// OnCgroupV1 reports whether containers have control groups of version 1. It asks the engine, which may run on another machine than this
// process.
func OnCgroupV1(ctx context.Context, e Asked) (bool, error) {
	format := "{{.Host.CgroupsVersion}}"
	if e.Name() == Docker {
		format = "{{.CgroupVersion}}"
	}
	out, err := e.Output(ctx, "info", "--format", format)
	if err != nil {
		return false, fmt.Errorf("ask %s for the cgroup version: %w", e.Name(), err)
	}
	return strings.TrimPrefix(strings.TrimSpace(string(out)), "v") == "1", nil
}
