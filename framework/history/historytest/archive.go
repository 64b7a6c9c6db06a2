package historytest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"testing/fstest"
)

// maxUnpackedBytes limits the size of an unpacked archive: records that are kept for tests are small.
const maxUnpackedBytes = 64 << 20

// Pack packs all files of a folder, such as a record, into an archive. The archive depends only on names and contents, so
// it is the same wherever it is made.
func Pack(folder fs.FS) ([]byte, error) {
	var packed bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	archive := tar.NewWriter(zipped)
	err = fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error { // sorted by name
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(folder, name)
		if err != nil {
			return err
		}
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data))}); err != nil {
			return err
		}
		_, err = archive.Write(data)
		return err
	})
	if err := errors.Join(err, archive.Close(), zipped.Close()); err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	return packed.Bytes(), nil
}

// Unpack reads an archive of Pack into memory, where tests can damage a record quickly. os.CopyFS writes it to disk.
func Unpack(name string) (fstest.MapFS, error) {
	packed, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	defer func() { _ = packed.Close() }() // only read
	zipped, err := gzip.NewReader(packed)
	if err != nil {
		return nil, fmt.Errorf("unpack %s: %w", name, err)
	}
	files := fstest.MapFS{}
	archive := tar.NewReader(io.LimitReader(zipped, maxUnpackedBytes))
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, fmt.Errorf("unpack %s: %w", name, err)
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			return nil, fmt.Errorf("unpack %s: %w", name, err)
		}
		files[header.Name] = &fstest.MapFile{Data: data, Mode: 0o644}
	}
}
