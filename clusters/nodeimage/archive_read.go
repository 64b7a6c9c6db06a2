package nodeimage

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Saved is the image of a file.
type Saved struct {
	Name         string // its only tag, as the engine that saved it wrote it
	ID           string // the sum of its configuration: "sha256:..."
	OS           string
	Architecture string
	Labels       map[string]string
}

// readSaved returns the image of a file, compressed or not, after checking all of it: that nothing is cut off, that there is one image with one tag,
// and that each layer has the sum that the image's configuration names. It reads the file once.
func readSaved(ctx context.Context, name string) (Saved, error) {
	image, err := readWhole(ctx, name)
	if ctx.Err() != nil {
		return Saved{}, context.Cause(ctx)
	}
	return image, err
}

func readWhole(ctx context.Context, name string) (Saved, error) {
	savedFile, err := openSaved(ctx, name)
	if err != nil {
		return Saved{}, err
	}
	defer savedFile.Close() //nolint:errcheck // only read
	found, err := scanArchive(savedFile)
	if err != nil {
		return Saved{}, err
	}
	var list tarball.Manifest
	if err := found.decode("manifest.json", &list); err != nil {
		return Saved{}, fmt.Errorf("it is no saved image, or it is cut off: %w", err)
	}
	if len(list) != 1 || len(list[0].RepoTags) != 1 {
		var names []string
		for _, one := range list {
			names = append(names, one.RepoTags...)
		}
		return Saved{}, fmt.Errorf("it holds %d images with the names %q: want one image with one name", len(list), names)
	}
	var config v1.ConfigFile
	if err := found.decode(list[0].Config, &config); err != nil {
		return Saved{}, fmt.Errorf("read the configuration of %s: %w", list[0].RepoTags[0], err)
	}
	if err := found.checkLayers(list[0].Layers, config.RootFS.DiffIDs); err != nil {
		return Saved{}, err
	}
	return Saved{
		Name: list[0].RepoTags[0], ID: "sha256:" + found[path.Clean(list[0].Config)].sum,
		OS: config.OS, Architecture: config.Architecture, Labels: config.Config.Labels,
	}, nil
}

// archiveParts are the files of an archive, by their clean names.
type archiveParts map[string]archivePart

type archivePart struct {
	sum  string // of the content, decompressed
	text []byte // of a file that may be a document
}

// maxDocument is how large a document may be; those of a node image have some kilobytes.
const maxDocument = 1 << 20

// scanArchive reads an archive to its end. A name that is there twice is refused: an engine could take the other one of the two.
func scanArchive(savedFile io.Reader) (archiveParts, error) {
	found := archiveParts{}
	for list := tar.NewReader(savedFile); ; {
		header, err := list.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, unreadable(err, len(found) > 0)
		}
		name := path.Clean(header.Name)
		if _, twice := found[name]; twice {
			return nil, fmt.Errorf("it holds %q twice", name)
		}
		if found[name], err = readPart(list, header); err != nil {
			return nil, unreadable(err, true)
		}
	}
	if _, err := io.Copy(io.Discard, savedFile); err != nil { // what follows the archive's end, such as the sum of the compressed file
		return nil, unreadable(err, true)
	}
	if len(found) == 0 {
		return nil, errors.New("it is empty")
	}
	return found, nil
}

func readPart(list io.Reader, header *tar.Header) (archivePart, error) {
	content, end, err := decompressed(list)
	if err != nil {
		return archivePart{}, err
	}
	defer end()
	sum := sha256.New()
	var text bytes.Buffer
	if header.Size <= maxDocument {
		_, err = io.Copy(io.MultiWriter(sum, &text), io.LimitReader(content, maxDocument))
	}
	if err == nil {
		_, err = io.Copy(sum, content)
	}
	return archivePart{hex.EncodeToString(sum.Sum(nil)), text.Bytes()}, err
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

func (p archiveParts) decode(name string, into any) error {
	found, ok := p[path.Clean(name)]
	if !ok {
		return fmt.Errorf("it has no %s", name)
	}
	if err := json.Unmarshal(found.text, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// checkLayers compares the layers with the sums that the configuration names.
func (p archiveParts) checkLayers(files []string, sums []v1.Hash) error {
	if len(sums) != len(files) || len(files) == 0 {
		return fmt.Errorf("it has %d layers, and its configuration names %d", len(files), len(sums))
	}
	for i, savedFile := range files {
		got, ok := p[path.Clean(savedFile)]
		switch {
		case !ok:
			return fmt.Errorf("it is no saved image, or it is cut off: it has no layer %s", savedFile)
		case got.sum != sums[i].Hex:
			return fmt.Errorf("it is damaged: its layer %s has the sum %s: copy it again", sums[i], got.sum)
		}
	}
	return nil
}
