package suites_test

import (
	"bufio"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The limits of a room, which is a package: beyond them it is two rooms.
const (
	mostFiles = 25
	mostLines = 2000 // without tests, blank lines and comments
)

// sisters are rooms whose files do not know each other: one file for each scenario, fault, promise or rule. They may have as many
// files as there are sisters; what the sisters share is in a room below.
var sisters = map[string]bool{
	"framework/audit":           true,
	"framework/fault":           true,
	"framework/judge/invariant": true,
	"suites/chaos":              true,
	"suites/conformance":        true,
	"suites/mutants":            true,
}

// room is the size of a package.
type room struct{ files, lines int }

func (r room) small() bool { return r.files <= mostFiles && r.lines <= mostLines }

// TestRoomsAreSmall: small functions and small files hide the growth of a package, so the package has a limit, too.
func TestRoomsAreSmall(t *testing.T) {
	rooms := map[string]*room{}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() {
			if name == "testdata" || strings.HasPrefix(name, ".") && name != ".." {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		lines, err := codeLines(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel("..", filepath.Dir(path))
		if err != nil {
			return err
		}
		if rooms[name] == nil {
			rooms[name] = &room{}
		}
		rooms[name].files++
		rooms[name].lines += lines
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range rooms {
		if !sisters[name] && !r.small() {
			t.Errorf("%s has %d files and %d lines of code; the limits are %d and %d: make two rooms of it", name, r.files, r.lines, mostFiles, mostLines)
		}
	}
	for name := range sisters {
		if r := rooms[name]; r == nil || r.small() {
			t.Errorf("%s is within the limits of any room, or gone: remove it from the exceptions", name)
		}
	}
}

// codeLines counts the lines of a Go file that are neither blank nor only a comment.
func codeLines(path string) (n int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }() // read only
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if text := strings.TrimSpace(lines.Text()); text != "" && !strings.HasPrefix(text, "//") {
			n++
		}
	}
	return n, lines.Err()
}
