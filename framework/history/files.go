package history

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"regexp"
	"strconv"
)

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
