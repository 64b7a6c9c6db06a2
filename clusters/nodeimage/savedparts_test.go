package nodeimage

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// savedPart is a file of a saved image.
type savedPart struct {
	Name, Content string
	Link          string // of a symbolic link
}

// savedParts are the files of an image with two layers: first the layers, then the configuration and the manifest. Image.ID is not used.
func savedParts(t *testing.T, image Saved) []savedPart {
	t.Helper()
	config := v1.ConfigFile{
		OS: image.OS, Architecture: image.Architecture, RootFS: v1.RootFS{Type: "layers"}, Config: v1.Config{Labels: image.Labels},
	}
	var parts []savedPart
	var layers []string
	for _, text := range []string{"root file system", "Kubernetes"} {
		content := string(tarOf(t, []savedPart{{Name: "usr/share/" + text, Content: text}}))
		sum := sumOf(content)
		config.RootFS.DiffIDs = append(config.RootFS.DiffIDs, v1.Hash{Algorithm: "sha256", Hex: sum})
		parts, layers = append(parts, savedPart{Name: sum + ".tar", Content: content}), append(layers, sum+".tar")
	}
	text := encodeJSON(t, config)
	manifest := encodeJSON(t, []map[string]any{{"Config": sumOf(text) + ".json", "RepoTags": []string{image.Name}, "Layers": layers}})
	return append(parts, savedPart{Name: sumOf(text) + ".json", Content: text}, savedPart{Name: "manifest.json", Content: manifest})
}

// idOf is the sum of the configuration among the parts of an image.
func idOf(parts []savedPart) string { return "sha256:" + sumOf(parts[2].Content) }

// sumOf is the SHA-256 sum of a text, in hexadecimal digits.
func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// tarOf packs files.
func tarOf(t *testing.T, parts []savedPart) []byte {
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

func encodeJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
