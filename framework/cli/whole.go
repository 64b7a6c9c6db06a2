package cli

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// missing tells what records cannot tell of themselves: that one is not there, or lies where another should. It looks into
// every run.json below dir; read are the headers of the records below dir that could be read, by their folders. Left has the
// scenarios that have no record because the run was interrupted, which is no problem.
func missing(dir string, records []string, read map[string]history.Header) (left history.RunFile, problems []error) {
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() != history.RunFileName {
			return err
		}
		run := filepath.Dir(filepath.FromSlash(path))
		file, err := history.ReadRunFile(filepath.Join(dir, run))
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

// misplaced compares a scenario of a run with what lies in its folder. One that the harness could not run, or was interrupted
// in, need not have left anything. A header without a scenario is that of a record which could not be read, which is told elsewhere.
func misplaced(run history.RunFile, s history.ScenarioResult, dir string, there bool, header history.Header) []error {
	switch {
	case !there && (s.Error != "" || s.NotBegun != "" || s.Interrupted != ""):
		return nil
	case there && s.NotBegun != "":
		return []error{fmt.Errorf("judge %s: %s says that %s was not begun, and its record is in %s", run.ID, history.RunFileName, s.Name, dir)}
	case !there:
		return []error{fmt.Errorf("judge %s: %s says that %s was judged, and its record is not in %s", run.ID, history.RunFileName, s.Name, dir)}
	case header.Scenario != "" && (header.Scenario != s.Name || header.RunID != run.ID):
		return []error{fmt.Errorf("judge %s: in %s lies the record of %s of run %s, and %s says that it is that of %s",
			run.ID, dir, header.Scenario, header.RunID, history.RunFileName, s.Name)}
	}
	return nil
}
