package selftest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/stored"
	"github.com/holdfast-ha/holdfast/reports/words"
)

// AddStored adds the runs in a folder: a run, a selftest with its rounds, or what a killed run left. With again, every record is judged
// again by the promises in it. Otherwise the outcomes in run.json count.
func (t *Report) AddStored(folder string, again bool) error {
	rounds, err := fs.Glob(os.DirFS(folder), path.Join(roundPattern, runfolder.FileName))
	if err != nil {
		return fmt.Errorf("add %s: %w", folder, err)
	}
	if len(rounds) == 0 {
		return t.addRun(folder, again)
	}
	var errs []error
	for _, name := range rounds {
		errs = append(errs, t.addRun(filepath.Join(folder, path.Dir(name)), again))
	}
	return errors.Join(errs...)
}

func (t *Report) addRun(folder string, again bool) error {
	f, err := runfolder.ReadFile(folder)
	if err != nil {
		return fmt.Errorf("add %s: %w", folder, err)
	}
	unlisted, err := t.unlisted(folder, f)
	if err != nil {
		return err
	}
	if again {
		for i := range f.Scenarios {
			if s := &f.Scenarios[i]; !s.Left() {
				stored.Again(folder, s)
			}
		}
		for _, dir := range unlisted {
			s := runfolder.ScenarioResult{Name: dir, Dir: dir}
			stored.Again(folder, &s)
			f.Scenarios = append(f.Scenarios, s)
		}
	} else if len(unlisted) > 0 {
		t.Remarks = append(t.Remarks, fmt.Sprintf("%s: %s never judged, because the run was killed: add it with --judge",
			folder, words.Plural(uint64(len(unlisted)), "record")+" "+map[bool]string{true: "was", false: "were"}[len(unlisted) == 1]))
	}
	return t.Add(folder, f)
}

// unlisted are the records that run.json does not list.
func (t *Report) unlisted(folder string, f runfolder.File) (dirs []string, err error) {
	records, err := runfolder.Records(folder)
	if err != nil {
		return nil, fmt.Errorf("add %s: %w", folder, err)
	}
	for _, dir := range records {
		if !slices.ContainsFunc(f.Scenarios, func(s runfolder.ScenarioResult) bool { return s.Dir == dir }) {
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}
