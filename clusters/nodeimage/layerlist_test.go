package nodeimage

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"testing"
)

// listLayer returns the entries of an archive, one line each: mode, kind, name, size or target.
func listLayer(t *testing.T, r io.Reader) []string {
	t.Helper()
	var lines []string
	in := tar.NewReader(r)
	for {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		switch header.Typeflag {
		case tar.TypeDir:
			lines = append(lines, fmt.Sprintf("%o %s", header.Mode, header.Name))
		case tar.TypeSymlink:
			lines = append(lines, fmt.Sprintf("link %s %s", header.Name, header.Linkname))
		default:
			text, err := io.ReadAll(in)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, fmt.Sprintf("%o %s %q", header.Mode, header.Name, text))
		}
	}
}
