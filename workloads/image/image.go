// Package image puts an executable into a container image: this one, which is also what every workload runs, or the
// program of an add-on.
//
// There is no registry, no Dockerfile and no toolchain involved, and it loads the image nowhere; clusters do that.
package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"debug/elf"
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
)

// Names that no registry has: such an image is never pulled by mistake.
const (
	repository = "holdfast.local/holdfast"
	addons     = "holdfast.local/addon/"
)

// Build returns the reference of an image that holds the executable, and the docker-archive file it lies in, below dir.
// The same executable gives the same image, which is built once. The executable has to be static: there is nothing else
// in the image that it could be linked with. It has to be of this machine's architecture, as nodes are. Archives that
// nobody asked for in a day are removed on the way: each build of the executable leaves one of 20 MB.
func Build(executable, dir string) (ref, archive string, err error) {
	return build(repository, "holdfast", "holdfast", executable, dir)
}

// BuildAddon is Build for the program of an add-on, which lies in the image as /name.
func BuildAddon(name, executable, dir string) (ref, archive string, err error) {
	return build(addons+name, "holdfast-addon-"+name, name, executable, dir)
}

// build makes an image of a repository, with the executable as entrypoint, in an archive whose name begins with prefix.
func build(repository, prefix, entrypoint, executable, dir string) (ref, archive string, err error) {
	program, err := os.ReadFile(executable)
	if err != nil {
		return "", "", fmt.Errorf("build workload image: %w", err)
	}
	if err := check(program, runtime.GOARCH); err != nil {
		return "", "", fmt.Errorf("build workload image: %s: %w", executable, err)
	}
	sum := sha256.Sum256(program)
	key := hex.EncodeToString(sum[:6])
	ref, archive = repository+":"+key, filepath.Join(dir, prefix+"-"+key+".tar")
	now := time.Now()
	if os.Chtimes(archive, now, now) == nil { // used today
		return ref, archive, nil // written under another name and renamed, so it is whole
	}
	prune(dir, now.Add(-keep))
	if err := write(program, entrypoint, ref, dir, archive); err != nil {
		return "", "", fmt.Errorf("build workload image: %w", err)
	}
	return ref, archive, nil
}

// machines that nodes can be.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// check refuses what could not run in the image: programs of another machine, and those that need a dynamic linker.
func check(program []byte, arch string) error {
	file, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return fmt.Errorf("not a Linux executable: %w", err)
	}
	defer func() { _ = file.Close() }() // it is memory
	if want, known := machines[arch]; known && file.Machine != want {
		return fmt.Errorf("built for %s, and the nodes are %s", file.Machine, want)
	}
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP {
			return errors.New("linked dynamically (cgo), and the image holds nothing to link with: use 'make build' (CGO_ENABLED=0)")
		}
	}
	return nil
}

// keep archives for so long after they were last asked for.
const keep = 24 * time.Hour

// prune removes what was not used since. What cannot be removed today can be tomorrow.
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

// assemble makes an image of one layer with one file, with no times in it.
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

// layerOf is a tar with the executable. Writing to memory does not fail.
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
