package history

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strconv"
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

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Checksum is the CRC-32C of all that of is the checksum of, and of more.
func Checksum(of uint32, more []byte) uint32 { return crc32.Update(of, castagnoli, more) }

// beginFile makes a file with its first line. What a killed process had begun is replaced.
func beginFile(name string, line []byte) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	if _, err := file.Write(line); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// linkAgain gives a file a second name, which may exist: a killed process had given it. Where the file system has no such names, the file is
// moved.
func linkAgain(name, second string) error {
	if err := os.Remove(second); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if os.Link(name, second) == nil {
		return nil
	}
	return os.Rename(name, second)
}

// writeError adds a remedy to a write error.
func writeError(name string, err error) error {
	var named *fs.PathError
	if errors.As(err, &named) {
		err = named.Err // the name appears only once
	}
	return fmt.Errorf("write %s: %w: the record stays incomplete; make room or choose another disk, and run again",
		name, err)
}

// requestsFile is a requests file, by its name.
type requestsFile struct {
	Name   string // as it is when it is closed
	Found  string // as it is
	Worker string
	Number int
}

var requestsName = regexp.MustCompile(`^((.+)-([0-9]{5})\.csv)(\.open|\.zst)?$`)

// requestsFileOf is the requests file of a name; not ok: the name is of something else.
func requestsFileOf(found string) (r requestsFile, ok bool) {
	parts := requestsName.FindStringSubmatch(found)
	if parts == nil {
		return r, false
	}
	n, err := strconv.Atoi(parts[3])
	return requestsFile{Name: parts[1], Found: found, Worker: parts[2], Number: n}, err == nil
}
