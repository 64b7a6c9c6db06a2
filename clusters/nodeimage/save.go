package nodeimage

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/framework/base/output"
)

// File is a file with the image of a node or of the load balancer.
type File struct {
	Saved
	SizeBytes int64
}

// Save writes the node image that the engine holds for a version of Kubernetes ("" means what Ensure takes it to mean) to a file that Load reads
// on another machine. It builds and pulls nothing. An interrupted Save leaves no file, and an older file as it was.
func Save(ctx context.Context, e Engine, version, path string, o Options) (File, error) {
	if err := checkForm(orDefault(version)); err != nil {
		return File{}, err
	}
	ref, held, err := present(ctx, e, version)
	if err != nil {
		return File{}, fmt.Errorf("find the node image: %w", err)
	}
	if !held {
		return File{}, fmt.Errorf("%s holds no node image of Kubernetes %s: get or build it with 'holdfast image get --kubernetes %[2]s', "+
			"or see with 'holdfast image list' what there is", e.Name(), orDefault(version))
	}
	if strings.Contains(ref.Image, "@") { // a file keeps tags, and no digests
		tag := kindDefaultTag()
		if _, err := e.Output(ctx, "tag", ref.Image, tag); err != nil {
			return File{}, fmt.Errorf("give %s a name that a file keeps: %w", ref.Image, err)
		}
		ref.Image = tag
	}
	return write(ctx, e, ref.Image, path, o)
}

// SaveBalancer is Save for the load balancer in front of several control planes.
func SaveBalancer(ctx context.Context, e Engine, path string, o Options) (File, error) {
	_, current, err := heldBalancer(ctx, e)
	switch {
	case ctx.Err() != nil:
		return File{}, fmt.Errorf("find the load balancer: %w", context.Cause(ctx))
	case err != nil || !current:
		return File{}, fmt.Errorf("%s does not hold the load balancer that this holdfast uses: get or build it with 'holdfast image balancer'", e.Name())
	}
	return write(ctx, e, BalancerImage, path, o)
}

// write writes an image that the engine holds to a file.
func write(ctx context.Context, e Engine, image, path string, o Options) (saved File, err error) {
	if err := o.fill(); err != nil {
		return File{}, err
	}
	s := steps{of: 1, tell: o.Progress}
	err = s.do(ctx, "save "+image+" from "+e.Name(), func(ctx context.Context) (cached bool, err error) {
		saved.Saved, saved.SizeBytes, err = writeSaved(ctx, path, func(to io.Writer) error { return export(ctx, e, image, to) })
		return false, err
	})
	return saved, err
}

// export streams an image out of the engine, in the format of `docker save`.
func export(ctx context.Context, e Engine, image string, to io.Writer) error {
	args := []string{"save", image}
	if e.Name() == engine.Podman {
		args = []string{"save", "--format", "docker-archive", image}
	}
	cmd := e.Command(ctx, args...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = to, &said
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("run %s save: %w:\n%s", e.Name(), err, output.Tail(said.String()))
	}
	return nil
}
