package history

import (
	"fmt"
	"os"
	"path/filepath"
)

// closeLeftover cuts the requests file of a killed recorder off after its last whole row, and says what it contains, and when its last
// request was done. A file without a row is removed.
func closeLeftover(l requestsFile, folder string) (segment Segment, last Offset, err error) {
	reading := requestReading{decoder: newDecoder(), last: make(map[string]Offset)}
	compressed, _ := unpackedName(l.Found)
	data, err := reading.load(os.DirFS(folder), requestFile{path: compressed, name: l.Found})
	if err != nil {
		return segment, 0, fmt.Errorf("close %s: %w", l.Found, err)
	}
	segment = Segment{File: l.Name, Bytes: int64(len(data)), Checksum: fmt.Sprintf("%08x", Checksum(0, data))}
	for r, err := range DecodeRequests(data) {
		if err != nil && len(data) > 0 {
			return segment, 0, fmt.Errorf("close %s: %w", l.Found, err)
		}
		if err == nil {
			segment.Rows, last = segment.Rows+1, max(last, r.Done)
		}
	}
	path := filepath.Join(folder, l.Found)
	switch {
	case segment.Rows == 0:
		err = os.Remove(path)
	case l.Found == l.Name+openSuffix:
		if err = os.Truncate(path, segment.Bytes); err == nil {
			err = os.Rename(path, filepath.Join(folder, l.Name))
		}
	}
	return segment, last, err
}
