package history

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Closed files of a recording are compressed. They are those of the zstd command: `zstd -dc requests/*.zst`. What is in them is checked elsewhere.

// packedSuffix ends the name of a compressed file.
const packedSuffix = ".zst"

// partSuffix ends the name of a file that is being compressed. A file that a killed process left behind is written again.
const partSuffix = packedSuffix + ".part"

// window bounds the memory that compressing and reading take.
const window = 4 << 20

// packFile replaces a file by a compressed one, whose name ends with packedSuffix. If it cannot, or the process is killed, the file stays as it was.
func packFile(name string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("compress %s: %w", name, err)
			_ = os.Remove(name + partSuffix) // what is wrong is known already
		}
	}()
	from, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // only read
	to, err := os.OpenFile(name+partSuffix, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if err := errors.Join(compress(to, from), to.Close()); err != nil {
		return err
	}
	if err := os.Rename(name+partSuffix, name+packedSuffix); err != nil {
		return err
	}
	return os.Remove(name)
}

func compress(to io.Writer, from io.Reader) error {
	z, err := zstd.NewWriter(to, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window), zstd.WithEncoderLevel(zstd.SpeedBetterCompression))
	if err != nil {
		return err
	}
	_, err = io.Copy(z, from)
	return errors.Join(err, z.Close())
}

// openPacked opens a file that may have been compressed meanwhile. Where both are there, the compressing was not finished.
func openPacked(files fs.FS, name string) (io.ReadCloser, error) {
	plain, err := files.Open(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return plain, err
	}
	packed, packedErr := files.Open(name + packedSuffix)
	if packedErr != nil {
		return nil, err // that of the name which is meant
	}
	info, err := packed.Stat()
	if err != nil || info.Size() == 0 { // which would read as an empty file
		return nil, errors.Join(cmp.Or(err, io.ErrUnexpectedEOF), packed.Close())
	}
	z, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(2*window))
	if err != nil {
		return nil, errors.Join(err, packed.Close())
	}
	return &packedReader{z.IOReadCloser(), packed, slack + mostRatio*info.Size()}, nil
}

// packedSize says whether a file is there, compressed or not, and of one that is not compressed how large it is; -1: it is compressed.
func packedSize(files fs.FS, name string) (size int64, err error) {
	info, err := fs.Stat(files, name)
	if err == nil {
		return info.Size(), nil
	}
	if _, packedErr := fs.Stat(files, name+packedSuffix); packedErr == nil {
		return -1, nil
	}
	return 0, err
}

// unpackedName is the name of a file before it was compressed. Not ok: the file is a part of one.
func unpackedName(file string) (name string, ok bool) {
	return strings.TrimSuffix(file, packedSuffix), !strings.HasSuffix(file, partSuffix)
}

// mostRatio is how many times as large a file may be as its compressed form: several times as large as any that was written. A record may come from
// another person, and 57 KB that unpack to gigabytes would take the memory of this machine. slack is for small files.
const (
	mostRatio = 500
	slack     = 16 << 20
)

var errTooLarge = fmt.Errorf("it unpacks to more than %d times its size, as no record does", mostRatio)

type packedReader struct {
	io.ReadCloser
	file fs.File
	left int64 // bytes that it may still have
}

// Read implements io.Reader.
func (r *packedReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if r.left -= int64(n); r.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

// Close closes the file as well.
func (r *packedReader) Close() error { return errors.Join(r.ReadCloser.Close(), r.file.Close()) }
