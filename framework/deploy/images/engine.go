package images

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/base/output"
)

// Engine is the part of a container engine that is used here.
type Engine interface {
	Name() string
	Command(ctx context.Context, args ...string) *exec.Cmd
	Output(ctx context.Context, args ...string) ([]byte, error)
}

// local are the images of the local engine, by their whole names, with the names that the engine itself uses.
type local struct {
	engine Engine
	names  map[string]string
}

// listLocal asks the engine once for all its images. Without an engine there are none.
func listLocal(ctx context.Context, e Engine) (local, error) {
	l := local{e, map[string]string{}}
	if e == nil {
		return l, nil
	}
	out, err := e.Output(ctx, "images", "--format", "{{.Repository}}:{{.Tag}}")
	if err != nil {
		return l, fmt.Errorf("list the images of %s: %w", e.Name(), err)
	}
	for _, line := range output.Lines(string(out)) {
		if n, err := ParseName(strings.TrimSpace(line)); err == nil { // an image without a name is <none>:<none>
			l.names[n.String()] = strings.TrimSpace(line)
		}
	}
	return l, nil
}

// find is the name that the engine has for an image. Podman puts localhost before the name of an image that was built without a registry.
func (l local) find(ctx context.Context, n Name) (named string, has bool) {
	if l.engine == nil {
		return "", false
	}
	if n.Digest != "" {
		_, err := l.engine.Output(ctx, "image", "inspect", "--format", "{{.Id}}", n.String())
		return n.String(), err == nil
	}
	for _, one := range aliases(n) {
		if named, has := l.names[one.String()]; has {
			return named, true
		}
	}
	return "", false
}

// aliases are the names under which an image may be known.
func aliases(n Name) []Name {
	if n.Host != DefaultHost {
		return []Name{n}
	}
	return []Name{n, n.local()}
}

// save copies an image from the engine to the store.
func (s *store) save(ctx context.Context, l local, named string, as Name) error {
	archive, err := os.CreateTemp(s.folder, "save-*")
	if err != nil {
		return err
	}
	defer os.Remove(archive.Name()) //nolint:errcheck // its folder is removed later, too
	cmd := l.engine.Command(ctx, "save", named)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = archive, &said
	err = cmd.Run()
	if err = errors.Join(err, context.Cause(ctx), archive.Close()); err != nil {
		return fmt.Errorf("save %s from %s: %w\n%s", named, l.engine.Name(), err, output.Tail(said.String()))
	}
	if err := s.unpack(archive.Name(), &as); err != nil {
		return fmt.Errorf("save %s from %s: %w", named, l.engine.Name(), err)
	}
	return nil
}
