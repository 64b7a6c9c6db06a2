package nights

import (
	"cmp"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/formats"
)

// readRun reads the run in a folder below root.
func readRun(root, dir string) Night {
	page, anchors := pageOf(root, dir, formats.HTMLFile, formats.MarkdownFile, formats.JSONFile)
	r, err := reportOf(filepath.Join(root, filepath.FromSlash(dir)))
	if err != nil {
		id := path.Base(dir)
		return Night{
			Dir: dir, ID: id, At: timeOf(id), Result: reports.Unknown, Word: string(reports.Unknown), Trouble: unread(root, err), Page: page, Anchors: anchors,
		}
	}
	r.RunID = cmp.Or(r.RunID, path.Base(dir))
	n := Of(r)
	n.Dir, n.Page, n.Anchors = dir, page, anchors
	return n
}

// unread says why a night cannot be read. Files are named from root on, because who reads that may be on another machine.
func unread(root string, err error) string {
	return "cannot be read: " + strings.ReplaceAll(err.Error(), filepath.Clean(root)+string(filepath.Separator), "")
}

// Of is the night of a report, which is in no folder.
func Of(r reports.Report) Night {
	n := Night{ID: r.RunID, At: r.Started, Result: r.Result, Word: string(r.Result), seed: r.Seed}
	if n.At.IsZero() {
		n.At = timeOf(n.ID)
	}
	switch {
	case len(r.Trouble) > 0:
		n.Trouble = strings.Join(r.Trouble, "; ")
	case r.Counts.Interrupted+r.Counts.NotBegun > 0:
		n.Trouble = "interrupted by " + cmp.Or(r.Interrupted, "a signal")
	}
	if n.At.IsZero() {
		n.Trouble = strings.TrimPrefix(n.Trouble+"; it does not say when it began, so it has no place among the nights", "; ")
	}
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		one := Scenario{Name: s.Name, Mutant: s.Mutant != nil, Result: s.Result}
		one.Line, one.Versions = lineOf(&r, s)
		var absurd []string
		one.Figures, absurd = measure(s)
		n.Absurd = append(n.Absurd, absurd...)
		n.Scenarios = append(n.Scenarios, one)
	}
	return n
}

// reportOf is the report of a run. The stored one counts if it is that of the complete run which run.json describes, or if there is nothing
// else. A killed run, a damaged run.json, and a report of another run or version are reported from the record.
func reportOf(folder string) (reports.Report, error) {
	stored, err := reports.Read(filepath.Join(folder, formats.JSONFile))
	file, fileErr := runfolder.ReadFile(folder)
	if fileErr == nil && err == nil && len(judge.Lacks(file)) == 0 && stored.RunID == file.ID {
		return stored, nil
	}
	if _, none := os.Stat(filepath.Join(folder, runfolder.FileName)); errors.Is(none, os.ErrNotExist) && err == nil {
		return stored, nil
	}
	built, buildErr := reports.Build(folder)
	if buildErr == nil {
		return built, nil
	}
	if errors.Is(err, os.ErrNotExist) {
		err = nil // a missing report is not what is wrong
	}
	return reports.Report{}, cmp.Or(err, buildErr)
}

// pageOf is the first of these files that a folder has, relative to root, and whether it is the first of them.
func pageOf(root, dir string, names ...string) (page string, best bool) {
	for i, name := range names {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(dir), name)); err == nil {
			return path.Join(dir, name), i == 0
		}
	}
	return "", false
}

// timeOf is the time that a run's name begins with; zero if it has none.
func timeOf(id string) time.Time {
	const layout = "20060102-150405"
	if len(id) < len(layout) {
		return time.Time{}
	}
	at, err := time.Parse(layout, id[:len(layout)])
	if err != nil {
		return time.Time{}
	}
	return at
}
