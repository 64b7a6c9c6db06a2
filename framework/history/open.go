package history

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// Open reads the record in a scenario's folder: its events immediately, its requests on demand. A folder without a record,
// or with one of a newer format, is an error. Damage is not an error: Open returns what can be read, and Run.Incomplete
// says what is missing.
func Open(dir string) (Run, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return Run{}, fmt.Errorf("open record: %w", err)
	}
	if !info.IsDir() {
		return Run{}, fmt.Errorf("open record: %s is a file: give the scenario's folder", dir)
	}
	return OpenFS(os.DirFS(dir), dir)
}

// OpenFS is Open for any file system whose root is the scenario's folder; dir is its name in messages.
func OpenFS(fsys fs.FS, dir string) (Run, error) {
	log := eventLog{}
	if err := log.readAll(fsys, dir); err != nil {
		return Run{}, fmt.Errorf("open record: %w", err)
	}
	slices.SortStableFunc(log.events, func(a, b Event) int { return cmp.Compare(a.T, b.T) })
	files, err := findRequests(fsys, dir, log.events)
	if err != nil {
		return Run{}, fmt.Errorf("open record: %w", err)
	}
	return Run{
		Header:     *log.header,
		Events:     log.events,
		Requests:   files.requests(fsys),
		Incomplete: reasons(append(log.problems, files.problems...)),
	}, nil
}

// reasons joins the first few problems.
func reasons(problems []string) string {
	const most = 5
	if n := len(problems); n > most {
		problems = append(problems[:most:most], fmt.Sprintf("and %d more", n-most))
	}
	return strings.Join(problems, "; ")
}
