package stored

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge"
)

// listing is a run.json, and the folder that it is in.
type listing struct {
	dir string
	runfolder.File
}

// listings reads every run.json below a folder.
func listings(dir string) (list []listing, problems []error) {
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() != runfolder.FileName {
			return err
		}
		run := filepath.Join(dir, filepath.FromSlash(path.Dir(name)))
		file, err := runfolder.ReadFile(run)
		if err != nil {
			problems = append(problems, err)
			return nil
		}
		list = append(list, listing{run, file})
		return nil
	})
	if err != nil {
		problems = append(problems, fmt.Errorf("look for runs in %s: %w", dir, err))
	}
	return list, problems
}

// add takes what run.json says and no record can: how the run ended, what it lacks, and the scenarios that have no record because they
// were interrupted or the harness failed. read are the headers of the records, by folder.
func (s *Judgement) add(l listing, read map[string]history.Header) {
	s.Sum.Interrupted = cmp.Or(s.Sum.Interrupted, l.Interrupted)
	for _, lack := range judge.Lacks(l.File) {
		s.Lacks = append(s.Lacks, fmt.Sprintf("run %s: %s", l.ID, lack))
	}
	for _, one := range l.Scenarios {
		if _, there := read[filepath.Join(l.dir, filepath.FromSlash(one.Dir))]; !there && recordless(one) {
			s.Sum.Scenarios = append(s.Sum.Scenarios, one)
		}
	}
	s.Problems = append(s.Problems, Misplaced(l.dir, l.File, read)...)
}

// recordless is whether a scenario may have no record: the harness could not run it, or it was interrupted.
func recordless(s runfolder.ScenarioResult) bool {
	return s.Error != "" || s.NotBegun != "" || s.Interrupted != ""
}

// Misplaced compares the run.json in a folder with the records: a record that it lists may be missing, or may be of another scenario or run.
// read are the headers of the records, by folder. A header without a scenario is of an unreadable record, which is an error of its own.
func Misplaced(runDir string, run runfolder.File, read map[string]history.Header) (problems []error) {
	for _, s := range run.Scenarios {
		header, there := read[filepath.Join(runDir, filepath.FromSlash(s.Dir))]
		says := fmt.Sprintf("judge %s: %s says that ", run.ID, runfolder.FileName)
		switch {
		case !there && recordless(s):
		case !there:
			problems = append(problems, fmt.Errorf("%s%s was judged, and its record is not in %s", says, s.Name, s.Dir))
		case s.NotBegun != "":
			problems = append(problems, fmt.Errorf("%s%s was not begun, and its record is in %s", says, s.Name, s.Dir))
		case header.Scenario != "" && (header.Scenario != s.Name || header.RunID != run.ID):
			problems = append(problems, fmt.Errorf("judge %s: in %s lies the record of %s of run %s, and %s says that it is that of %s",
				run.ID, s.Dir, header.Scenario, header.RunID, runfolder.FileName, s.Name))
		}
	}
	return problems
}

// unlisted names the runs whose folder is at or below dir and has records, but no run.json: a record does not say what else was chosen.
// A record that lies elsewhere stands for itself.
func unlisted(dir string, records []string, read map[string]history.Header) (lacks []string) {
	whole, err := filepath.Abs(dir)
	if target, linked := filepath.EvalSymlinks(whole); err == nil && linked == nil {
		whole = target // latest is a link
	}
	for _, record := range records {
		header := read[filepath.Join(dir, filepath.FromSlash(record))]
		run, below := strings.CutSuffix("/"+record, "/"+header.Scenario)
		at := filepath.Join(whole, filepath.FromSlash(run))
		if header.Scenario == "" || !below || filepath.Base(at) != path.Base(header.RunID) || runfolder.Exists(filepath.Join(at, runfolder.FileName)) {
			continue
		}
		lacks = append(lacks, fmt.Sprintf("run %s: its folder has no %s, which says what was chosen and how the run ended", header.RunID, runfolder.FileName))
	}
	return slices.Compact(lacks)
}
