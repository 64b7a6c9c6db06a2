// Package archive is the file in which the image of a node goes from one machine to another: what `docker save` writes of one image,
// compressed with zstd.
//
// It does not decide which images may go that way, and it knows no container engine.
package archive

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/klauspost/compress/zstd"
)

// Image is the image of a file.
type Image struct {
	Name         string // its only tag, as the engine that saved it wrote it
	ID           string // the sum of its configuration: "sha256:..."
	OS           string
	Architecture string
	Labels       map[string]string
}

// Read returns the image of a file, compressed or not, after checking all of it: that nothing is cut off, that there is one image with one tag,
// and that each layer has the sum that the image's configuration names.
func Read(ctx context.Context, path string) (Image, error) {
	image, err := read(func() (io.ReadCloser, error) { return Open(ctx, path) })
	if ctx.Err() != nil {
		return Image{}, context.Cause(ctx)
	}
	return image, err
}

func read(open tarball.Opener) (Image, error) {
	if err := whole(open); err != nil {
		return Image{}, err
	}
	list, err := tarball.LoadManifest(open)
	if err != nil {
		return Image{}, fmt.Errorf("it is no saved image, or it is cut off: %w", err)
	}
	if len(list) != 1 || len(list[0].RepoTags) != 1 {
		var names []string
		for _, one := range list {
			names = append(names, one.RepoTags...)
		}
		return Image{}, fmt.Errorf("it holds %d images with %d names %q: want one image with one name", len(list), len(names), names)
	}
	image, err := tarball.Image(open, nil)
	if err != nil {
		return Image{}, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return Image{}, fmt.Errorf("its configuration: %w", err)
	}
	id, err := image.ConfigName()
	if err != nil {
		return Image{}, fmt.Errorf("its configuration: %w", err)
	}
	if err := checkLayers(image, config.RootFS.DiffIDs, len(list[0].Layers)); err != nil {
		return Image{}, err
	}
	return Image{
		Name: list[0].RepoTags[0], ID: id.String(), OS: config.OS, Architecture: config.Architecture, Labels: config.Config.Labels,
	}, nil
}

// whole reads a file to its end. A name that is there twice is refused: an engine could read the other one of the two.
func whole(open tarball.Opener) error {
	file, err := open()
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // only read
	seen := map[string]bool{}
	for list := tar.NewReader(file); ; {
		header, err := list.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return unreadable(err, len(seen) > 0)
		}
		if seen[header.Name] {
			return fmt.Errorf("it holds %q twice", header.Name)
		}
		seen[header.Name] = true
		if _, err := io.Copy(io.Discard, list); err != nil {
			return unreadable(err, true)
		}
	}
	if _, err := io.Copy(io.Discard, file); err != nil { // what follows the archive's end, such as the sum of the compressed file
		return unreadable(err, true)
	}
	if len(seen) == 0 {
		return errors.New("it is empty")
	}
	return nil
}

// unreadable says in words what keeps a file from being read.
func unreadable(err error, begun bool) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("it is cut off (%w): copy it again", err)
	case errors.Is(err, tar.ErrHeader) && !begun:
		return fmt.Errorf("it is no archive (%w): want a file that 'holdfast image save' wrote", err)
	}
	return fmt.Errorf("it is damaged (%w): copy it again", err)
}

// checkLayers compares the layers with the sums that the configuration names.
func checkLayers(image v1.Image, sums []v1.Hash, listed int) error {
	if len(sums) != listed || listed == 0 {
		return fmt.Errorf("it has %d layers, and its configuration names %d", listed, len(sums))
	}
	for _, want := range sums {
		layer, err := image.LayerByDiffID(want)
		if err != nil {
			return fmt.Errorf("its layer %s: %w", want, err)
		}
		got, err := sumOf(layer)
		if err != nil {
			return fmt.Errorf("its layer %s: %w", want, err)
		}
		if got != want.Hex {
			return fmt.Errorf("it is damaged: its layer %s has the sum %s: copy it again", want, got)
		}
	}
	return nil
}

func sumOf(layer v1.Layer) (string, error) {
	content, err := layer.Uncompressed()
	if err != nil {
		return "", err
	}
	defer content.Close() //nolint:errcheck // only read
	sum := sha256.New()
	if _, err := io.Copy(sum, content); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// zstdMagic begins a file that is compressed with zstd.
//
// Source: RFC 8878, section 3.1.1
var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// Open returns the content of a file, decompressed. Reading ends with ctx.
func Open(ctx context.Context, path string) (io.ReadCloser, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	content := bufio.NewReaderSize(endsWith{ctx, file}, 1<<20)
	if magic, _ := content.Peek(len(zstdMagic)); !bytes.Equal(magic, zstdMagic) { // a shorter file is not compressed
		return &opened{content, file.Close}, nil
	}
	unpacked, err := zstd.NewReader(content)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &opened{unpacked, func() error { unpacked.Close(); return file.Close() }}, nil
}

type opened struct {
	io.Reader
	close func() error
}

func (o *opened) Close() error { return o.close() }

// endsWith is a reader that fails when its context has ended.
type endsWith struct {
	ctx context.Context
	io.Reader
}

func (r endsWith) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.Reader.Read(p)
}
