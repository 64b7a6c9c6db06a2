package images

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// contactLimit is how long a connection to a registry may take. A machine without a network must not wait for minutes.
const contactLimit = 5 * time.Second

// pull copies an image from its registry to the store, once, with the credentials that `docker login` and `podman login` have stored.
func (s *store) pull(ctx context.Context, n Name) error {
	ref, err := name.ParseReference(n.String(), name.WeakValidation)
	if err != nil {
		return err
	}
	connections := remote.DefaultTransport.(*http.Transport).Clone()
	connections.DialContext = (&net.Dialer{Timeout: contactLimit}).DialContext
	defer connections.CloseIdleConnections()
	found, err := remote.Get(ref, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithTransport(connections),
		remote.WithPlatform(platform), remote.WithRetryBackoff(remote.Backoff{Steps: 1}))
	if err != nil {
		return explain(err)
	}
	image, err := found.Image()
	if err != nil {
		return err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return explain(err)
	}
	if err := fits(config.OS, config.Architecture); err != nil {
		return err
	}
	if err := s.layout.WriteImage(image); err != nil {
		return explain(err)
	}
	own, err := image.Digest()
	if err != nil {
		return err
	}
	if _, err := s.text(found.MediaType, found.Manifest); err != nil { // of an image for several platforms it is the index
		return err
	}
	return s.add(held{
		name: n, image: v1.Descriptor{MediaType: found.MediaType, Size: int64(len(found.Manifest)), Digest: found.Digest},
		digests: []v1.Hash{found.Digest, own}, from: n.Host,
	})
}

// errAway means that no registry answered, in contrast to one that refused.
var errAway = errors.New("no registry answers")

// explain says whether a registry refused, or none answered.
func explain(err error) error {
	var refused *transport.Error
	switch {
	case !errors.As(err, &refused):
		return fmt.Errorf("%w: %w", errAway, err)
	case refused.StatusCode == http.StatusNotFound:
		return fmt.Errorf("its registry does not have it: %w", err)
	case refused.StatusCode == http.StatusUnauthorized || refused.StatusCode == http.StatusForbidden:
		return fmt.Errorf("its registry refuses to give it to this user, or does not have it; 'docker login' or 'podman login' stores credentials: %w", err)
	}
	return fmt.Errorf("its registry fails: %w", err)
}
