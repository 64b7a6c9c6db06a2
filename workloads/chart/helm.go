package chart

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"

	"github.com/holdfast-ha/holdfast/workloads"
)

// Program is the helm that is compiled where there is none.
func Program() workloads.Program {
	const module, version = "helm.sh/helm/v4", "v4.3.1"
	return workloads.Program{
		Name: "helm", Module: module, Version: version, Package: module + "/cmd/helm",
		LDFlags: "-X " + module + "/internal/version.version=" + version,
	}
}

// Helm finds the helm program.
type Helm struct {
	// Compile returns the path of a program, and compiles it the first time; nil: there is no compiler.
	Compile func(context.Context, workloads.Program) (string, error)
	found   string
}

// Path is the user's own helm, which is on PATH, or else one that Compile makes. It is found once.
func (h *Helm) Path(ctx context.Context) (path string, err error) {
	if h.found != "" {
		return h.found, nil
	}
	if path, err = exec.LookPath("helm"); err != nil {
		if h.Compile == nil || runtime.GOOS != "linux" { // what is compiled runs on nodes
			return "", errors.New("helm is not on PATH: install it, because it renders charts")
		}
		if path, err = h.Compile(ctx, Program()); err != nil {
			return "", fmt.Errorf("helm is not on PATH, and cannot be compiled; install it: %w", err)
		}
	}
	h.found = path
	return path, nil
}
