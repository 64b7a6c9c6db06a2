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

// listings reads every run.json below a folder, and that of the run of which the folder is a part.
func listings(dir string) (list []listing, problems []error) {
	list, err := above(dir)
	if err != nil {
		problems = append(problems, err)
	}
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
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

// above is what run.json says of a folder of the run that is judged alone. What the run lacks of other scenarios does not matter then.
func above(dir string) ([]listing, error) {
	whole := absolute(dir)
	at := whole
	for !runfolder.Exists(filepath.Join(at, runfolder.FileName)) && at != filepath.Dir(at) {
		at = filepath.Dir(at)
	}
	if at == whole || at == filepath.Dir(at) {
		return nil, nil
	}
	file, err := runfolder.ReadFile(at)
	if err != nil {
		return nil, err
	}
	l := listing{dir, file}
	l.Scenarios, l.Chosen = nil, nil
	for _, s := range file.Scenarios {
		if below, err := filepath.Rel(whole, filepath.Join(at, filepath.FromSlash(s.Dir))); err == nil && filepath.IsLocal(below) {
			s.Dir = filepath.ToSlash(below)
			l.Scenarios = append(l.Scenarios, s)
		}
	}
	return []listing{l}, nil
}

// absolute is the path of a folder without links, such as latest.
func absolute(dir string) string {
	whole, err := filepath.Abs(dir)
	if target, linked := filepath.EvalSymlinks(whole); err == nil && linked == nil {
		return target
	}
	return whole
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

// unlisted names the runs whose folder has records at or below dir, but no run.json: a record does not say what else was chosen. A record that lies elsewhere stands for itself.
func unlisted(dir string, records []string, read map[string]history.Header) (lacks []string) {
	whole := absolute(dir)
	for _, record := range records {
		header := read[filepath.Join(dir, filepath.FromSlash(record))]
		at, below := strings.CutSuffix(filepath.Join(whole, filepath.FromSlash(record)), string(filepath.Separator)+filepath.FromSlash(header.Scenario))
		if header.Scenario == "" || !below || filepath.Base(at) != path.Base(header.RunID) || runfolder.Exists(filepath.Join(at, runfolder.FileName)) {
			continue
		}
		lacks = append(lacks, fmt.Sprintf("run %s: its folder has no %s, which says what was chosen and how the run ended", header.RunID, runfolder.FileName))
	}
	return slices.Compact(lacks)
}
