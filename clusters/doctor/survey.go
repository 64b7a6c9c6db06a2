package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
)

// SurveyCommand is the subcommand of holdfast that calls Survey. It runs in a container of an engine whose containers run on another machine.
const SurveyCommand = "survey"

// inside is an engine that may run containers on another machine than this one; *engine.Engine is one.
type inside interface {
	Name() string
	Elsewhere() bool
	Inside(ctx context.Context, args ...string) ([]byte, error)
}

// Survey checks the machine that this process runs on, for nodes beside this process's container, and writes the checks as JSON. It does what
// Prepare does there first. The file system of a container is on the disk that nodes take.
// program is the engine's, for the remedies.
func Survey(out io.Writer, nodes int, program string) error {
	return thisMachine().survey(out, nodes, program)
}

func (m *machine) survey(out io.Writer, nodes int, program string) error {
	m.raiseLimits()
	return json.NewEncoder(out).Encode([]Check{
		m.cgroups(), m.limits(nodes), m.inotify(nodes), m.overlay(), m.memory(nodes), m.space("/", nodes, program),
	})
}

// survey has the engine's machine checked by a container on it.
func survey(ctx context.Context, e inside, nodes int) (checks []Check, err error) {
	said, err := e.Inside(ctx, SurveyCommand, "--nodes", strconv.Itoa(nodes), "--engine", e.Name())
	if err != nil {
		return nil, fmt.Errorf("look at the machine that nodes run on: %w", err)
	}
	if err := json.Unmarshal(said, &checks); err != nil {
		return nil, fmt.Errorf("read what holdfast says of the machine that nodes run on: %w", err)
	}
	return checks, nil
}

// surveyed are the checks of the engine's machine, or one that says why there are none.
func surveyed(ctx context.Context, e inside, nodes int) []Check {
	checks, err := survey(ctx, e, nodes)
	if err != nil {
		return []Check{{Name: "machine", Status: Fail, Found: err.Error(), Remedy: "holdfast needs to run a privileged container there"}}
	}
	return checks
}

// nodeImage tries commands in a container of a node image, which has them.
type nodeImage struct {
	engine containerEngine
	image  string // empty: the engine has none
}

// try runs a program as root in a network namespace of its own, as isolated does on this machine.
func (n nodeImage) try(ctx context.Context, stdin string, command ...string) error {
	if n.image == "" {
		return fmt.Errorf("%w: %s is in the node image, and the engine has no node image yet", errNotTried, command[0])
	}
	// The text is an argument, because Output has no standard input.
	args := append([]string{"run", "--rm", "--pull=never", "--privileged", "--network", "none", "--entrypoint", "sh", n.image,
		"-c", `text=$1; shift; printf %s "$text" | exec "$@"`, "sh", stdin}, command...)
	_, err := n.engine.Output(ctx, args...)
	var exit *exec.ExitError
	if err == nil || errors.As(err, &exit) && exit.ExitCode() < refusedByEngine {
		return err
	}
	return fmt.Errorf("%w: %w", errNotTried, err)
}

// refusedByEngine is the lowest exit status of `docker run` and `podman run` that is not the program's.
//
// Source: https://docs.docker.com/engine/containers/run/#exit-status
const refusedByEngine = 125

// kernelBy is the machine with another way to try what its kernel can do.
func (m *machine) kernelBy(try func(ctx context.Context, stdin string, command ...string) error) *machine {
	other := *m
	other.isolated, other.untried = try, "run 'holdfast doctor' again after the first cluster"
	return &other
}
