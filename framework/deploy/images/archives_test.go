package images_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Files are the content of an archive, by name. A value that begins with Link is a symbolic link.
type Files map[string]string

// Link begins the value of a file that is a symbolic link.
const Link = "-> "

// Write writes an archive, and returns its path.
func (f Files) Write(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, f.Pack(t), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Pack is the archive.
func (f Files) Pack(t *testing.T) []byte {
	t.Helper()
	var names []string
	for name := range f {
		names = append(names, name)
	}
	slices.Sort(names)
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	for _, name := range names {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(f[name]))}
		if to, is := bytes.CutPrefix([]byte(f[name]), []byte(Link)); is {
			header = &tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: string(to)}
		}
		if err := w.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeReg {
			if _, err := w.Write([]byte(f[name])); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// Layer is the content of a layer with one file.
func Layer(t *testing.T, text string) string {
	t.Helper()
	return string(Files{"etc/motd": text}.Pack(t))
}

// Digest is the digest of a content.
func Digest(content string) v1.Hash {
	sum := sha256.Sum256([]byte(content))
	return v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum[:])}
}

// Config is the configuration of an image with some layers, for this machine unless an architecture is given.
func Config(t *testing.T, architecture string, layers ...string) string {
	t.Helper()
	if architecture == "" {
		architecture = runtime.GOARCH
	}
	c := v1.ConfigFile{OS: "linux", Architecture: architecture, RootFS: v1.RootFS{Type: "layers"}}
	for _, layer := range layers {
		c.RootFS.DiffIDs = append(c.RootFS.DiffIDs, Digest(layer))
	}
	return text(t, c)
}

// Docker is an archive as Docker before 25 and podman write it: with a manifest.json, and layers that are not compressed.
func Docker(t *testing.T, architecture string, tags []string, layers ...string) Files {
	t.Helper()
	f := Files{"config.json": Config(t, architecture, layers...)}
	one := map[string]any{"Config": "config.json", "RepoTags": tags}
	var names []string
	for _, layer := range layers {
		name := Digest(layer).Hex + "/layer.tar"
		names, f[name] = append(names, name), layer
	}
	one["Layers"] = names
	f["manifest.json"] = text(t, []any{one})
	return f
}

// Blob adds a content under its digest.
func (f Files) Blob(kind types.MediaType, content string) v1.Descriptor {
	digest := Digest(content)
	f["blobs/"+digest.Algorithm+"/"+digest.Hex] = content
	return v1.Descriptor{MediaType: kind, Size: int64(len(content)), Digest: digest}
}

// Image adds an image with layers.
func (f Files) Image(t *testing.T, architecture string, layers ...string) v1.Descriptor {
	t.Helper()
	m := v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Config: f.Blob(types.OCIConfigJSON, Config(t, architecture, layers...))}
	for _, layer := range layers {
		m.Layers = append(m.Layers, f.Blob(types.OCIUncompressedLayer, layer))
	}
	return f.Blob(m.MediaType, text(t, m))
}

// Index adds an index of images.
func (f Files) Index(t *testing.T, parts ...v1.Descriptor) v1.Descriptor {
	t.Helper()
	return f.Blob(types.OCIImageIndex, text(t, v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: parts}))
}

// Layout makes the files an OCI image layout, as Docker 29 and `podman save --format oci-archive` write it.
func (f Files) Layout(t *testing.T, images ...v1.Descriptor) Files {
	t.Helper()
	f["oci-layout"] = `{"imageLayoutVersion":"1.0.0"}`
	f["index.json"] = text(t, v1.IndexManifest{SchemaVersion: 2, Manifests: images})
	return f
}

// Named is an image with an annotation.
func Named(image v1.Descriptor, annotation, value string) v1.Descriptor {
	image.Annotations = map[string]string{annotation: value}
	return image
}

// For is a part of an index for a platform.
func For(part v1.Descriptor, architecture string) v1.Descriptor {
	if architecture == "" {
		architecture = runtime.GOARCH
	}
	part.Platform = &v1.Platform{OS: "linux", Architecture: architecture}
	return part
}

func text(t *testing.T, value any) string {
	t.Helper()
	out, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
