package history

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/holdfast-ha/holdfast/framework/history/packed"
)

// leftover is a requests file of a killed recorder.
type leftover struct {
	name   string // as it is when it is closed
	found  string // as it is
	worker string
	number int
}

var requestsName = regexp.MustCompile(`^((.+)-([0-9]{5})\.csv)(\.open|\.zst)?$`)

// leftoverOf is the requests file of a name; not ok: the name is of something else.
func leftoverOf(found string) (l leftover, ok bool) {
	parts := requestsName.FindStringSubmatch(found)
	if parts == nil {
		return l, false
	}
	l = leftover{name: parts[1], found: found, worker: parts[2]}
	l.number, ok = number(parts[3])
	return l, ok
}

func number(digits string) (int, bool) {
	n, err := strconv.Atoi(digits)
	return n, err == nil
}

// close cuts the file off after its last whole row, and says what it contains, and when its last request was done. A file without a row
// is removed.
func (l leftover) close(folder string) (segment Segment, last Offset, err error) {
	reading := requestReading{decoder: newDecoder(), last: make(map[string]Offset)}
	compressed, _ := packed.Name(l.found)
	data, err := reading.load(os.DirFS(folder), requestFile{path: compressed, name: l.found})
	if err != nil {
		return segment, 0, fmt.Errorf("close %s: %w", l.found, err)
	}
	segment = Segment{File: l.name, Bytes: int64(len(data)), Checksum: fmt.Sprintf("%08x", checksum(0, data))}
	for r, err := range DecodeRequests(data) {
		if err != nil && len(data) > 0 {
			return segment, 0, fmt.Errorf("close %s: %w", l.found, err)
		}
		if err == nil {
			segment.Rows, last = segment.Rows+1, max(last, r.Done)
		}
	}
	path := filepath.Join(folder, l.found)
	switch {
	case segment.Rows == 0:
		err = os.Remove(path)
	case l.found == l.name+openSuffix:
		if err = os.Truncate(path, segment.Bytes); err == nil {
			err = os.Rename(path, filepath.Join(folder, l.name))
		}
	}
	return segment, last, err
}
