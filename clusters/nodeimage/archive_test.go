package nodeimage

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
)

var node = Saved{Name: "localhost/holdfast/node:v1.37.0-abc", OS: "linux", Architecture: "amd64", Labels: map[string]string{"a": "b"}}

func savedFile(t *testing.T, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "node.tar.zst")
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func packed(t *testing.T, content []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(content, nil)
}

func zipped(t *testing.T, content string) string {
	t.Helper()
	var all bytes.Buffer
	w := gzip.NewWriter(&all)
	if _, err := io.WriteString(w, content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func TestWriteAndRead(t *testing.T) {
	archiveParts := savedParts(t, node)
	content := tarOf(t, archiveParts)
	path := filepath.Join(t.TempDir(), "node.tar.zst")
	saved, size, err := writeSaved(t.Context(), path, func(w io.Writer) error { _, err := w.Write(content); return err })
	if err != nil {
		t.Fatal(err)
	}
	want := node
	want.ID = idOf(archiveParts)
	if diff := cmp.Diff(want, saved); diff != "" {
		t.Errorf("what was written (-want +got):\n%s", diff)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != size || int(size) >= len(content) {
		t.Errorf("%v bytes, said %d, of %d: %v", info.Size(), size, len(content), err)
	}
	docker := slices.Clone(archiveParts) // Docker with containerd's store packs the layers
	docker[0].Content, docker[1].Content = zipped(t, docker[0].Content), zipped(t, docker[1].Content)
	for name, path := range map[string]string{
		"compressed": path, "as docker save writes it": savedFile(t, content), "with packed layers": savedFile(t, tarOf(t, docker)),
		"compressed with gzip": savedFile(t, []byte(zipped(t, string(content)))),
	} {
		if got, err := readSaved(t.Context(), path); err != nil || !cmp.Equal(want, got) {
			t.Errorf("%s: %v\n%s", name, err, cmp.Diff(want, got))
		}
	}
}

func TestReadRefuses(t *testing.T) {
	archiveParts := savedParts(t, node)
	whole := tarOf(t, archiveParts)
	small := packed(t, whole)
	edited := func(edit func(p []savedPart) []savedPart) []byte {
		return tarOf(t, edit(slices.Clone(archiveParts)))
	}
	layersAlone, _, _ := bytes.Cut(whole, []byte(sumOf(archiveParts[2].Content)))
	flipped := bytes.Clone(small)
	flipped[len(flipped)/2] ^= 0xff
	for name, test := range map[string]struct {
		content []byte
		want    string
	}{
		"nothing":                {nil, "it is empty"},
		"a text":                 {[]byte(strings.Repeat("not an image\n", 100)), "it is no archive (archive/tar: invalid tar header)"},
		"one byte":               {[]byte{0x28}, "it is cut off (unexpected EOF)"},
		"a compressed text":      {packed(t, []byte(strings.Repeat("text ", 1000))), "it is no archive"},
		"cut off, compressed":    {small[:len(small)/2], "it is cut off (unexpected EOF): copy it again"},
		"without the last bytes": {small[:len(small)-2], "it is cut off (unexpected EOF): copy it again"},
		"cut off, plain":         {whole[:700], "it is cut off (unexpected EOF): copy it again"},
		"cut off between files":  {layersAlone, "it is no saved image, or it is cut off: it has no manifest.json"},
		"a changed byte":         {flipped, "it is damaged"},
		"a changed layer": {edited(func(p []savedPart) []savedPart {
			p[1].Content = strings.Replace(p[1].Content, "Kubernetes", "kubernetes", 1)
			return p
		}), "it is damaged: its layer sha256:" + sumOf(archiveParts[1].Content) + " has the sum "},
		"a layer that is a link": {edited(func(p []savedPart) []savedPart {
			p[1] = savedPart{Name: p[1].Name, Link: p[0].Name}
			return p
		}), "it is damaged: its layer sha256:" + sumOf(archiveParts[1].Content)},
		"a layer is missing": {edited(func(p []savedPart) []savedPart { return p[1:] }), "it has no layer " + archiveParts[0].Name},
		"a large document": {edited(func(p []savedPart) []savedPart {
			p[3].Content = "[" + strings.Repeat(" ", 1<<20) + p[3].Content[1:]
			return p
		}), "it is no saved image, or it is cut off: manifest.json: unexpected end of JSON input"},
		"a layer is not listed": {edited(func(p []savedPart) []savedPart {
			p[3].Content = strings.Replace(p[3].Content, `,"`+p[1].Name+`"`, "", 1)
			return p
		}), "it has 1 layers, and its configuration names 2"},
		"two files of one name": {edited(func(p []savedPart) []savedPart { return append(p, p[3]) }), `it holds "manifest.json" twice`},
		"two images": {edited(func(p []savedPart) []savedPart {
			p[3].Content = p[3].Content[:len(p[3].Content)-1] + `,{"RepoTags":["shop:1"]}]`
			return p
		}), `it holds 2 images with the names ["localhost/holdfast/node:v1.37.0-abc" "shop:1"]`},
		"no name": {edited(func(p []savedPart) []savedPart {
			p[3].Content = strings.Replace(p[3].Content, `["`+node.Name+`"]`, "null", 1)
			return p
		}), "it holds 1 images with the names []"},
		"a manifest of another form": {edited(func(p []savedPart) []savedPart {
			p[3].Content = "{"
			return p
		}), "it is no saved image, or it is cut off"},
		"a configuration of another form": {edited(func(p []savedPart) []savedPart {
			p[2].Content = "[]"
			return p
		}), "cannot unmarshal"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readSaved(t.Context(), savedFile(t, test.content))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %+v, %v\nwant %s", got, err, test.want)
			}
		})
	}
	if _, err := readSaved(t.Context(), filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// A failed or interrupted Write leaves the folder as it was, with an older file of that name.
func TestWriteLeavesNothingUnfinished(t *testing.T) {
	stop := errors.New("Ctrl-C")
	stopped, end := context.WithCancelCause(t.Context())
	end(stop)
	content := tarOf(t, savedParts(t, node))
	for name, test := range map[string]struct {
		ctx  context.Context
		fill func(w io.Writer) error
		want string
	}{
		"the engine fails": {t.Context(), func(w io.Writer) error {
			_, err := w.Write(content[:1000])
			return errors.Join(err, errors.New("no such image"))
		}, "no such image"},
		"it ends too early": {t.Context(), func(w io.Writer) error { _, err := w.Write(content[:1000]); return err }, "it is cut off"},
		"interrupted":       {stopped, func(w io.Writer) error { _, err := w.Write(content); return err }, "Ctrl-C"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "node.tar.zst")
			if err := os.WriteFile(path, []byte("older"), 0o644); err != nil {
				t.Fatal(err)
			}
			_, _, err := writeSaved(test.ctx, path, test.fill)
			if err == nil || !strings.HasPrefix(err.Error(), "write "+path+": ") || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
			left, err := os.ReadDir(dir)
			if err != nil || len(left) != 1 {
				t.Errorf("left %v, %v", left, err)
			}
			if text, err := os.ReadFile(path); err != nil || string(text) != "older" {
				t.Errorf("the older file holds %q, %v", text, err)
			}
		})
	}
	if _, _, err := writeSaved(t.Context(), filepath.Join(t.TempDir(), "none", "x"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
	if _, _, err := writeSaved(t.Context(), t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), "it is a folder: name a file") {
		t.Errorf("a folder: %v", err)
	}
}
