package registry

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// PullBytes is how much a registry sends for an image of an architecture. The error means that no registry sends it, at least not within a few
// seconds and without credentials; it is ErrNoRegistry if none answers. It is this process that asks: an engine with a proxy or a mirror of its own may get another answer.
func PullBytes(ctx context.Context, image, architecture string) (int64, error) {
	ref, err := name.ParseReference(image)
	if err != nil {
		return 0, fmt.Errorf("ask a registry for %s: %w", image, err)
	}
	ctx, cancel := context.WithTimeout(ctx, contactLimit)
	defer cancel()
	found, err := remote.Image(ref, remote.WithContext(ctx), remote.WithPlatform(v1.Platform{OS: "linux", Architecture: architecture}))
	var unreachable net.Error
	if errors.As(err, &unreachable) {
		err = fmt.Errorf("%w: %w", ErrNoRegistry, err)
	}
	if err != nil {
		return 0, fmt.Errorf("ask a registry for %s: %w", image, err)
	}
	manifest, err := found.Manifest()
	if err != nil {
		return 0, fmt.Errorf("ask a registry for %s: %w", image, err)
	}
	size := manifest.Config.Size
	for _, layer := range manifest.Layers {
		size += layer.Size
	}
	return size, nil
}
