package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// Label marks everything that holdfast creates with an engine. Its value is the purpose.
const Label = "holdfast.dev/owner"

// cleanLimit bounds the removal of the proof's container and image, which also happens after ctx has ended.
const cleanLimit = 30 * time.Second

// prove runs a privileged container on the engine's default network, and removes the container and its image. A daemon that
// merely answers proves nothing: it may lack a capability, a cgroup controller or a network plugin. There may be no registry, so
// the container runs holdfast itself; program is the path of its executable.
func prove(ctx context.Context, h host, e *Engine, program string) error {
	// The image name is fully qualified, so that no engine asks a registry. Container and image names are random, and so is the
	// layer, because the name of its program is. Otherwise concurrent proofs would remove each other's.
	name := "holdfast-probe-" + strings.ToLower(rand.Text()[:8])
	image := "localhost/" + name + ":latest"
	archive, err := rootFS(name, program)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, proofLimit, fmt.Errorf("not finished within %s", proofLimit))
	defer cancel()
	call := func(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
		return h.run(ctx, call{env: e.env, path: e.path, args: args, stdin: stdin})
	}
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanLimit)
		defer cancel()
		_, _ = call(clean, nil, "rm", "--force", "--volumes", name) // usually already removed by --rm
		_, _ = call(clean, nil, "rmi", "--force", image)
	}()
	if _, err := call(ctx, archive, "import", "--change", "LABEL "+Label+"=probe", "-", image); err != nil {
		return fmt.Errorf("import the probe image: %w", why(err))
	}
	_, err = call(ctx, nil, "run", "--rm", "--name", name, "--label", Label+"=probe", "--pull=never", "--privileged", image, "/"+name, ProbeCommand)
	return explain(err)
}

// explain interprets the exit status of the probe.
func explain(err error) error {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit) && exit.ExitCode() == ProbeRefused:
		return fmt.Errorf("a privileged container runs, but %s", strings.TrimPrefix(why(err).Error(), "holdfast: "))
	}
	return fmt.Errorf("a privileged container does not run: %w", why(err))
}
