package nodeimage

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/holdfast-ha/holdfast/framework/base/output"
)

// loadLayers streams an archive in the format of `docker save` into the engine while it is being written.
func loadLayers(ctx context.Context, e Engine, name string, config v1.ConfigFile, layers []string) error {
	for _, file := range layers {
		sum, err := sha256File(file)
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
	err := streamArchive(ctx, e, reader)
	_ = reader.CloseWithError(io.ErrClosedPipe) // an engine that exited early must not block the writer; CloseWithError never fails
	archive := <-written
	if ctx.Err() == nil && archive != nil && !errors.Is(archive, io.ErrClosedPipe) {
		return fmt.Errorf("write the image: %w", archive)
	}
	return err
}

// streamArchive has the engine load an archive in the format of `docker save`.
func streamArchive(ctx context.Context, e Engine, archive io.Reader) error {
	cmd := e.Command(ctx, "load")
	cmd.Stdin = archive
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("load the image: %w", context.Cause(ctx))
	case err != nil:
		return fmt.Errorf("load the image: %w:\n%s", err, output.Tail(said.String()))
	}
	return nil
}

func writeArchive(w io.Writer, name string, config v1.ConfigFile, layers []string) error {
	text, err := json.Marshal(config)
	if err != nil {
		return err
	}
	entry := struct {
		Config   string
		RepoTags []string
		Layers   []string
	}{Config: "config.json", RepoTags: []string{name}}
	archive := Tree{}
	for i, file := range layers {
		inside := config.RootFS.DiffIDs[i].Hex + ".tar"
		archive.File(inside, file)
		entry.Layers = append(entry.Layers, inside)
	}
	manifest, err := json.Marshal([]any{entry})
	if err != nil {
		return err
	}
	archive.Add(entry.Config, string(text))
	archive.Add("manifest.json", string(manifest))
	return archive.Write(w)
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
