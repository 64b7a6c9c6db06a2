package stored

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
)

// missing compares every run.json below dir with the records: a record that run.json lists may be missing, or may be of another scenario.
// read are the headers of the records that could be read, by folder. left has the scenarios that have no record because the run was
// interrupted, which is not a problem.
func missing(dir string, records []string, read map[string]history.Header) (left runfolder.File, problems []error) {
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() != runfolder.FileName {
			return err
		}
		run := filepath.Dir(filepath.FromSlash(path))
		file, err := runfolder.ReadFile(filepath.Join(dir, run))
		if err != nil {
			problems = append(problems, err)
			return nil
		}
		left.Interrupted = cmp.Or(left.Interrupted, file.Interrupted)
		for _, s := range file.Scenarios {
			at := filepath.ToSlash(filepath.Join(run, filepath.FromSlash(s.Dir)))
			if there := slices.Contains(records, at); !there && (s.NotBegun != "" || s.Interrupted != "") {
				left.Scenarios = append(left.Scenarios, s)
			}
			problems = append(problems, misplaced(file, s, filepath.Join(dir, at), slices.Contains(records, at), read[at])...)
		}
		return nil
	})
	if err != nil {
		problems = append(problems, fmt.Errorf("look for runs in %s: %w", dir, err))
	}
	return left, problems
}

// misplaced compares a scenario of a run with the record in its folder. A scenario that the harness could not run, or that was
// interrupted, may have no record. A header without a scenario is of an unreadable record, which is reported elsewhere.
func misplaced(run runfolder.File, s runfolder.ScenarioResult, dir string, there bool, header history.Header) []error {
	switch {
	case !there && (s.Error != "" || s.NotBegun != "" || s.Interrupted != ""):
		return nil
	case there && s.NotBegun != "":
		return []error{fmt.Errorf("judge %s: %s says that %s was not begun, and its record is in %s", run.ID, runfolder.FileName, s.Name, dir)}
	case !there:
		return []error{fmt.Errorf("judge %s: %s says that %s was judged, and its record is not in %s", run.ID, runfolder.FileName, s.Name, dir)}
	case header.Scenario != "" && (header.Scenario != s.Name || header.RunID != run.ID):
		return []error{fmt.Errorf("judge %s: in %s lies the record of %s of run %s, and %s says that it is that of %s",
			run.ID, dir, header.Scenario, header.RunID, runfolder.FileName, s.Name)}
	}
	return nil
}
