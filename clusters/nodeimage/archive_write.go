package nodeimage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
)

// writeSaved compresses what content writes into a file, and returns the image that it holds. The file appears under its name when it is complete
// and was read back; until then, and if anything fails, an older file of that name stays as it was.
func writeSaved(ctx context.Context, path string, content func(io.Writer) error) (image Saved, sizeBytes int64, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", path, err)
		}
	}()
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return Saved{}, 0, errors.New("it is a folder: name a file")
	}
	archivePart, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.part")
	if err != nil {
		return Saved{}, 0, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(archivePart.Name()))
		}
	}()
	if err := errors.Join(pack(archivePart, content), archivePart.Chmod(0o644), archivePart.Sync(), archivePart.Close()); err != nil {
		return Saved{}, 0, err
	}
	if image, err = readSaved(ctx, archivePart.Name()); err != nil {
		return Saved{}, 0, err
	}
	info, err := os.Stat(archivePart.Name())
	if err != nil {
		return Saved{}, 0, err
	}
	return image, info.Size(), os.Rename(archivePart.Name(), path)
}

func pack(to io.Writer, content func(io.Writer) error) error {
	packed, err := zstd.NewWriter(to) // with the sum of the content
	if err != nil {
		return err
	}
	return errors.Join(content(packed), packed.Close())
}
