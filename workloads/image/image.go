// Package image puts an executable into a container image: holdfast itself, which every workload runs, or the program of an
// add-on.
//
// It needs no registry, no Dockerfile and no toolchain. It does not load the image anywhere; clusters do that.
package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/holdfast-ha/holdfast/framework/base/self"
)

// Repositories that no registry has, so that such an image is never pulled by mistake.
const (
	repository = "holdfast.local/holdfast"
	addons     = "holdfast.local/addon/"
)

// Build returns the reference of an image with the executable, and the path of its docker-archive file, below dir. The same
// executable gives the same image, which is built once. The executable must be static, because the image contains nothing
// else to link with, and it must have the architecture of this machine, which is also that of the nodes. Build removes
// archives that have not been used for a day: each build of the executable leaves one of 20 MB.
func Build(executable, dir string) (ref, archive string, err error) {
	return build(repository, "holdfast", "holdfast", executable, dir)
}

// BuildAddon is Build for the program of an add-on, which is /name in the image.
func BuildAddon(name, executable, dir string) (ref, archive string, err error) {
	return build(addons+name, "holdfast-addon-"+name, name, executable, dir)
}

// build makes an image of a repository, with the executable as entry point, in an archive whose file name begins with
// prefix.
func build(repository, prefix, entrypoint, executable, dir string) (ref, archive string, err error) {
	program, err := os.ReadFile(executable)
	if err != nil {
		return "", "", fmt.Errorf("build workload image: %w", err)
	}
	if err := self.Check(bytes.NewReader(program), runtime.GOARCH); err != nil {
		return "", "", fmt.Errorf("build workload image: %s: %w", executable, err)
	}
	sum := sha256.Sum256(program)
	key := hex.EncodeToString(sum[:6])
	ref, archive = repository+":"+key, filepath.Join(dir, prefix+"-"+key+".tar")
	now := time.Now()
	if os.Chtimes(archive, now, now) == nil { // marks the archive as used
		return ref, archive, nil // the archive was renamed into place, so it is complete
	}
	prune(dir, now.Add(-keep))
	if err := write(program, entrypoint, ref, dir, archive); err != nil {
		return "", "", fmt.Errorf("build workload image: %w", err)
	}
	return ref, archive, nil
}

// keep is how long an archive is kept after its last use.
const keep = 24 * time.Hour

// prune removes archives that have not been used since. A failure is ignored: a later call tries again.
func prune(dir string, since time.Time) {
	files, _ := filepath.Glob(filepath.Join(dir, "holdfast-*")) // the pattern is well-formed
	for _, f := range files {
		if info, err := os.Stat(f); err == nil && info.ModTime().Before(since) {
			_ = os.Remove(f)
		}
	}
}

func write(program []byte, entrypoint, ref, dir, archive string) error {
	image, err := assemble(program, entrypoint)
	if err != nil {
		return err
	}
	tag, err := name.NewTag(ref)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	part, err := os.CreateTemp(dir, "holdfast-*.part")
	if err != nil {
		return err
	}
	err = errors.Join(tarball.Write(tag, image, part), part.Close())
	if err == nil {
		err = os.Rename(part.Name(), archive)
	}
	if err != nil {
		return errors.Join(err, os.Remove(part.Name()))
	}
	return nil
}

// assemble makes an image with one layer that contains one file. It contains no timestamps.
func assemble(program []byte, entrypoint string) (v1.Image, error) {
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(layerOf(program, entrypoint))), nil
	})
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config = v1.Config{Entrypoint: []string{"/" + entrypoint}, User: "65532:65532", WorkingDir: "/"}
	return mutate.ConfigFile(image, config)
}

// layerOf is a tar archive with the executable. Writing to memory does not fail.
func layerOf(program []byte, name string) []byte {
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	_ = w.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: name, Mode: 0o755, Size: int64(len(program)),
	})
	_, _ = w.Write(program)
	_ = w.Close()
	return layer.Bytes()
}
