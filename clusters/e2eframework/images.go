package e2eframework

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/holdfast-ha/holdfast/clusters"
)

// LoadImage imports an image of the container engine on every node that does not have it yet.
func (p *Provider) LoadImage(ctx context.Context, image string, args ...string) error {
	if err := refuse(args); err != nil {
		return err
	}
	if p.cluster == nil {
		return p.missing()
	}
	dir, err := os.MkdirTemp("", "holdfast-image-")
	if err != nil {
		return fmt.Errorf("load image %s: %w", image, err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	path := filepath.Join(dir, "image.tar")
	if err := p.source.saveImage(ctx, image, path); err != nil {
		return fmt.Errorf("load image %s: %w", image, err)
	}
	return p.cluster.LoadImage(ctx, clusters.Image{Ref: image, Path: path})
}

// LoadImageArchive imports the images of a docker-archive file, optionally compressed with gzip, on every node.
func (p *Provider) LoadImageArchive(ctx context.Context, path string, args ...string) error {
	if err := refuse(args); err != nil {
		return err
	}
	if p.cluster == nil {
		return p.missing()
	}
	refs, err := tagsOf(path)
	if err != nil {
		return fmt.Errorf("load images from %s: %w", path, err)
	}
	for _, ref := range refs { // the first call imports every image of the archive; the other calls only check that their image is there
		if err := p.cluster.LoadImage(ctx, clusters.Image{Ref: ref, Path: path}); err != nil {
			return err
		}
	}
	return nil
}

// tagsOf are the tags of the images in a docker-archive file.
func tagsOf(path string) ([]string, error) {
	manifest, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return plain(path) })
	if err != nil {
		return nil, fmt.Errorf("want a docker-archive: %w", err)
	}
	var refs []string
	for _, image := range manifest {
		refs = append(refs, image.RepoTags...)
	}
	if len(refs) == 0 {
		return nil, errors.New("none of its images has a tag")
	}
	return refs, nil
}

// plain opens a file, and decompresses it if it is compressed with gzip.
func plain(path string) (io.ReadCloser, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	content := bufio.NewReader(file)
	// Peek fails on a file of one byte, which cannot be compressed. The reader of the content will report what is wrong.
	if magic, _ := content.Peek(2); !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return stream{content, file}, nil
	}
	unpacked, err := gzip.NewReader(content)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return stream{unpacked, file}, nil
}

// stream combines a Reader with the Closer of its source.
type stream struct {
	io.Reader
	io.Closer
}
