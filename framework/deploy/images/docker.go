package images

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// What compressed layers begin with.
var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// fromDocker copies the images of an archive that has no manifests, as Docker before 25 and podman save it. They get manifests that
// describe the layers as they are: to compress them would cost time, and would not bring the registry's digest back.
func (s *store) fromDocker(a *archive, list tarball.Manifest) (all []held, err error) {
	for _, one := range list {
		image, err := s.fromParts(a, one)
		if err != nil {
			return nil, err
		}
		h := held{image: image, digests: []v1.Hash{image.Digest}, repacked: true}
		if len(one.RepoTags) == 0 {
			all = append(all, h)
		}
		for _, tag := range one.RepoTags {
			if h.name, err = ParseName(tag); err != nil {
				return nil, err
			}
			all = append(all, h)
		}
	}
	return all, nil
}

// fromParts makes an image of its configuration and its layers.
func (s *store) fromParts(a *archive, one tarball.Descriptor) (image v1.Descriptor, err error) {
	var config v1.ConfigFile
	text, err := a.document(one.Config, &config)
	if err != nil {
		return image, err
	}
	if err := fits(config.OS, config.Architecture); err != nil {
		return image, err
	}
	if len(config.RootFS.DiffIDs) != len(one.Layers) {
		return image, fmt.Errorf("it is damaged: %s names %d layers, and the archive has %d", one.Config, len(config.RootFS.DiffIDs), len(one.Layers))
	}
	made := v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Layers: []v1.Descriptor{}}
	if made.Config, err = s.text(types.OCIConfigJSON, text); err != nil {
		return image, err
	}
	for i, name := range one.Layers {
		layer, err := s.layerOf(a, name, config.RootFS.DiffIDs[i])
		if err != nil {
			return image, fmt.Errorf("%s: %w", name, err)
		}
		made.Layers = append(made.Layers, layer)
	}
	return s.document(made.MediaType, made)
}

// layerOf copies a layer, which may be compressed.
func (s *store) layerOf(a *archive, name string, plain v1.Hash) (layer v1.Descriptor, err error) {
	part, err := a.open(name)
	if err != nil {
		return layer, err
	}
	content := bufio.NewReader(part)
	start, err := content.Peek(len(zstdMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return layer, err
	}
	layer.MediaType = types.OCIUncompressedLayer
	switch {
	case bytes.HasPrefix(start, gzipMagic):
		layer.MediaType = types.OCILayer
	case bytes.HasPrefix(start, zstdMagic):
		layer.MediaType = types.OCILayerZStd
	}
	layer.Digest, layer.Size, err = s.blob(content)
	if err == nil && layer.MediaType == types.OCIUncompressedLayer && layer.Digest != plain {
		err = fmt.Errorf("it is damaged: its content has digest %s, and not %s", layer.Digest, plain)
	}
	return layer, err
}

// fits returns an error unless this machine, and so the nodes, can run an image of a platform.
func fits(system, architecture string) error {
	if (system == "" || system == platform.OS) && (architecture == "" || architecture == platform.Architecture) {
		return nil
	}
	return fmt.Errorf("the image is for %s/%s, and the nodes are %s: save or build it for this platform", system, architecture, platform)
}

// platform is that of the nodes: they are containers of this machine.
var platform = v1.Platform{OS: "linux", Architecture: runtime.GOARCH}
