package images

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// archive is a file that an engine has saved images to. Its parts are read in place.
type archive struct {
	path  string
	file  *os.File
	parts map[string]io.SectionReader
	links map[string]string // older versions of Docker save a layer once, and link to it
}

// Limits on what is read into memory.
const (
	maxDocument = 8 << 20
	maxLinks    = 16
)

// archiveWanted says which files are read.
const archiveWanted = "want a file that 'docker save' or 'podman save' wrote"

func openArchive(name string) (*archive, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read image archive: %w", err)
	}
	a := &archive{path: name, file: file, parts: map[string]io.SectionReader{}, links: map[string]string{}}
	if err := a.index(); err != nil {
		return nil, fmt.Errorf("read image archive %s: %w: %s", name, errors.Join(err, file.Close()), archiveWanted)
	}
	return a, nil
}

// index finds the parts of the archive. The tar reader reads nothing ahead, so that the file's position is where a part begins.
func (a *archive) index() error {
	var start [2]byte
	if _, err := a.file.ReadAt(start[:], 0); err == nil && bytes.Equal(start[:], gzipMagic) {
		return errors.New("it is compressed: unpack it with gunzip first")
	}
	list := tar.NewReader(a.file)
	for {
		header, err := list.Next()
		switch {
		case errors.Is(err, io.EOF) && len(a.parts) == 0:
			return errors.New("it is empty")
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		name := path.Clean(header.Name)
		switch header.Typeflag {
		case tar.TypeReg:
			at, err := a.file.Seek(0, io.SeekCurrent)
			if err != nil {
				return err
			}
			a.parts[name] = *io.NewSectionReader(a.file, at, header.Size)
		case tar.TypeSymlink:
			a.links[name] = path.Join(path.Dir(name), header.Linkname)
		case tar.TypeLink:
			a.links[name] = path.Clean(header.Linkname)
		}
	}
}

// open opens a part.
func (a *archive) open(name string) (*io.SectionReader, error) {
	name = path.Clean(name)
	for range maxLinks {
		if part, has := a.parts[name]; has {
			return &part, nil
		}
		to, linked := a.links[name]
		if !linked {
			break
		}
		name = to
	}
	return nil, fmt.Errorf("it is incomplete: it has no %s", name)
}

// document reads a part with JSON.
func (a *archive) document(name string, to any) ([]byte, error) {
	part, err := a.open(name)
	if err != nil {
		return nil, err
	}
	if part.Size() > maxDocument {
		return nil, fmt.Errorf("%s has %d bytes, which is too much", name, part.Size())
	}
	text, err := io.ReadAll(part)
	if err == nil && to != nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return text, nil
}

// The documents that tell the formats of archives apart. An archive of Docker 25 or later has both.
const (
	ociIndex       = "index.json"
	dockerManifest = "manifest.json"
)

// unpack copies the images of an archive to the store. With a name, the archive has one image, and this is its name.
func (s *store) unpack(archived string, as *Name) error {
	a, err := openArchive(archived)
	if err != nil {
		return err
	}
	defer a.file.Close() //nolint:errcheck // opened for reading only
	copied, err := s.copyFrom(a)
	if err == nil && len(copied) == 0 {
		err = errors.New("it holds no image: " + archiveWanted)
	}
	if err != nil {
		return fmt.Errorf("read image archive %s: %w", archived, err)
	}
	for _, h := range copied {
		h.from = filepath.Base(archived)
		if as != nil {
			if h.name, h.from = *as, "the local engine"; as.Digest != "" { // the engine may have packed it anew
				h.name = as.within(h.image.Digest)
			}
		}
		if err := s.add(h); err != nil {
			return err
		}
	}
	return nil
}

func (s *store) copyFrom(a *archive) ([]held, error) {
	if _, err := a.open(ociIndex); err == nil {
		return s.fromLayout(a)
	}
	var list tarball.Manifest
	if _, err := a.document(dockerManifest, &list); err != nil {
		return nil, fmt.Errorf("%w: %s", err, archiveWanted)
	}
	return s.fromDocker(a, list)
}
