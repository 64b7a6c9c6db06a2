// Package archivetest makes saved images for tests, as podman saves them, and broken ones.
package archivetest

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/holdfast-ha/holdfast/clusters/nodeimage/archive"
)

// Part is a file of a saved image.
type Part struct {
	Name, Content string
	Link          string // of a symbolic link
}

// Parts are the files of an image with two layers: first the layers, then the configuration and the manifest. Image.ID is not used.
func Parts(t *testing.T, image archive.Image) []Part {
	t.Helper()
	config := v1.ConfigFile{
		OS: image.OS, Architecture: image.Architecture, RootFS: v1.RootFS{Type: "layers"}, Config: v1.Config{Labels: image.Labels},
	}
	var parts []Part
	var layers []string
	for _, text := range []string{"root file system", "Kubernetes"} {
		content := string(Tar(t, []Part{{Name: "usr/share/" + text, Content: text}}))
		sum := Sum(content)
		config.RootFS.DiffIDs = append(config.RootFS.DiffIDs, v1.Hash{Algorithm: "sha256", Hex: sum})
		parts, layers = append(parts, Part{Name: sum + ".tar", Content: content}), append(layers, sum+".tar")
	}
	text := encode(t, config)
	manifest := encode(t, []map[string]any{{"Config": Sum(text) + ".json", "RepoTags": []string{image.Name}, "Layers": layers}})
	return append(parts, Part{Name: Sum(text) + ".json", Content: text}, Part{Name: "manifest.json", Content: manifest})
}

// ID is the sum of the configuration among the parts of an image.
func ID(parts []Part) string { return "sha256:" + Sum(parts[2].Content) }

// Sum is the SHA-256 sum of a text, in hexadecimal digits.
func Sum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Tar packs files.
func Tar(t *testing.T, parts []Part) []byte {
	t.Helper()
	var packed bytes.Buffer
	out := tar.NewWriter(&packed)
	for _, p := range parts {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: p.Name, Mode: 0o644, Size: int64(len(p.Content))}
		if p.Link != "" {
			header.Typeflag, header.Linkname = tar.TypeSymlink, p.Link
		}
		if err := out.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write([]byte(p.Content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

func encode(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
