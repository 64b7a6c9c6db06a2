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
	"os"
	"path/filepath"
	"runtime"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// assemble loads the image into the engine. It has three layers. The lower two are the same for every version of
// Kubernetes, so the engine stores them once. The engine tags the image only when it has all of it.
func (b *builder) assemble(ctx context.Context, e images, p parts, name, work string) error {
	base, err := b.base(ctx, p)
	if err != nil {
		return err
	}
	upper, err := b.ofVersion(ctx, p, base, work)
	if err != nil {
		return err
	}
	files := []string{filepath.Join(p.rootfs, rootfsTar), filepath.Join(work, "base.tar"), filepath.Join(work, "version.tar")}
	for i, t := range []tree{base, upper} {
		if err := t.writeFile(files[i+1]); err != nil {
			return err
		}
	}
	config := v1.ConfigFile{
		OS: "linux", Architecture: runtime.GOARCH, Created: v1.Time{Time: time.Now().UTC()},
		RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			Env: []string{
				searchPath,
				"container=docker", // systemd detects by this that it runs in a container
				// An empty value makes kind's entrypoint remove the host's search domains from resolv.conf, unless the
				// cluster sets dnsSearch. With search domains, every lookup of a Service by its long name asks external DNS
				// servers first.
				"KIND_DNS_SEARCH=",
			},
			Entrypoint: []string{"/usr/local/bin/entrypoint", "/sbin/init"},
			StopSignal: "SIGRTMIN+3", // at SIGTERM systemd re-executes itself instead
			Labels: map[string]string{
				LabelKubernetes: b.version, LabelNetwork: string(NetworkAgent), LabelRecipe: recipeKey(b.version),
			},
		},
	}
	return load(ctx, e, name, config, files)
}

// load streams an archive in the format of `docker save` into the engine while it is being written.
func load(ctx context.Context, e images, name string, config v1.ConfigFile, layers []string) error {
	for _, layer := range layers {
		sum, err := sha256File(layer)
		if err != nil {
			return err
		}
		config.RootFS.DiffIDs = append(config.RootFS.DiffIDs, v1.Hash{Algorithm: "sha256", Hex: sum})
	}
	reader, writer := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := writeArchive(writer, name, config, layers)
		written <- err
		_ = writer.CloseWithError(err) // CloseWithError never fails
	}()
	cmd := e.Command(ctx, "load")
	cmd.Stdin = reader
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	_ = reader.CloseWithError(io.ErrClosedPipe) // an engine that exited early must not block the writer; CloseWithError never fails
	archive := <-written
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("load the image: %w", context.Cause(ctx))
	case archive != nil && !errors.Is(archive, io.ErrClosedPipe):
		return fmt.Errorf("write the image: %w", archive)
	case err != nil:
		return fmt.Errorf("load the image: %w:\n%s", err, tail(said.String()))
	}
	return nil
}

func writeArchive(w io.Writer, name string, config v1.ConfigFile, layers []string) error {
	out := tar.NewWriter(w)
	text, err := json.Marshal(config)
	if err != nil {
		return err
	}
	entry := struct {
		Config   string
		RepoTags []string
		Layers   []string
	}{Config: "config.json", RepoTags: []string{name}}
	if err := addBytes(out, entry.Config, text); err != nil {
		return err
	}
	for i, layer := range layers {
		inside := config.RootFS.DiffIDs[i].Hex + ".tar"
		if err := addFile(out, inside, layer); err != nil {
			return err
		}
		entry.Layers = append(entry.Layers, inside)
	}
	manifest, err := json.Marshal([]any{entry})
	if err != nil {
		return err
	}
	return errors.Join(addBytes(out, "manifest.json", manifest), out.Close())
}

func addBytes(out *tar.Writer, name string, content []byte) error {
	return item{mode: 0o644, text: content}.write(out, name)
}

func addFile(out *tar.Writer, name, from string) error {
	return item{mode: 0o644, from: from}.write(out, name)
}

func sha256File(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // only read
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
