package images

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// NameAnnotation holds the whole name of an image in a layout's index.json.
// Source: https://github.com/opencontainers/image-spec/blob/main/annotations.md
const NameAnnotation = "org.opencontainers.image.ref.name"

// held is an image that is in the store.
type held struct {
	name    Name // zero: its archive has no name for it
	image   v1.Descriptor
	digests []v1.Hash // of the image, and of the part of it for this machine's platform
	from    string    // an archive, or an engine
	// repacked says that its digest is not that of a registry's image, because its archive does not keep manifests.
	repacked bool
}

// store is the folder with the layout. What has been written into it is complete.
type store struct {
	folder string
	layout layout.Path
	held   []held
	served map[string]bool // names in the index
}

func newStore(folder string) (*store, error) {
	path, err := layout.Write(folder, empty.Index)
	if err == nil {
		err = os.MkdirAll(filepath.Join(folder, "blobs", "sha256"), 0o755)
	}
	return &store{folder: folder, layout: path, served: map[string]bool{}}, err
}

// blob writes content, and returns its digest and its size. Memory does not grow with it.
func (s *store) blob(content io.Reader) (digest v1.Hash, size int64, err error) {
	blobs := filepath.Join(s.folder, "blobs", "sha256")
	part, err := os.CreateTemp(s.folder, "part-*")
	if err != nil {
		return digest, 0, err
	}
	defer os.Remove(part.Name()) //nolint:errcheck // no longer exists after the rename
	sum := sha256.New()
	size, err = io.Copy(io.MultiWriter(part, sum), content)
	digest = v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum.Sum(nil))}
	if err = errors.Join(err, part.Close()); err != nil {
		return digest, size, err
	}
	return digest, size, os.Rename(part.Name(), filepath.Join(blobs, digest.Hex))
}

// blobOf writes content that must have a digest.
func (s *store) blobOf(want v1.Hash, content io.Reader) error {
	if info, err := os.Stat(filepath.Join(s.folder, "blobs", want.Algorithm, want.Hex)); err == nil && info.Mode().IsRegular() {
		return nil
	}
	got, _, err := s.blob(content)
	if err == nil && got != want {
		err = fmt.Errorf("it is damaged: its content has digest %s", got)
	}
	return err
}

// document writes a value as JSON.
func (s *store) document(kind types.MediaType, value any) (v1.Descriptor, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return v1.Descriptor{}, err
	}
	return s.text(kind, text)
}

func (s *store) text(kind types.MediaType, text []byte) (v1.Descriptor, error) {
	digest, size, err := s.blob(bytes.NewReader(text))
	return v1.Descriptor{MediaType: kind, Size: size, Digest: digest}, err
}

// add keeps an image, and serves it under its own name.
func (s *store) add(h held) error {
	s.held = append(s.held, h)
	if h.name == (Name{}) {
		return nil
	}
	return s.serve(h.name, h.image)
}

// serve puts a name into the index. The first image of a name stays.
func (s *store) serve(n Name, image v1.Descriptor) error {
	if s.served[n.String()] {
		return nil
	}
	s.served[n.String()] = true
	image.Annotations = map[string]string{NameAnnotation: n.String()}
	return s.layout.AppendDescriptor(image)
}
