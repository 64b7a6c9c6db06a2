// Package stored judges records on disk again: all records below a folder, or the record of one scenario in run.json.
//
// It opens the records and compares them with run.json. Package judge judges them.
package stored

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge"
)

// Judgement is what was found in the records below a folder.
type Judgement struct {
	Scenarios []Scenario // those that could be read, in the order of the records
	// Sum has the results of all scenarios, as run.json does, including those without a record because the run was interrupted or the
	// harness failed.
	Sum    runfolder.File
	Causes judge.Confusion // of the mutants
	// Lacks is what the runs lack beside that: see judge.Lacks.
	Lacks []string
	// Problems are why records could not be judged: they are unreadable, missing, or of another scenario than run.json says.
	Problems []error
}

// Scenario is what was found in one record. An interrupted or unsupported scenario has no verdicts.
type Scenario struct {
	Result runfolder.ScenarioResult
	judge.Found
}

// Judge judges records below dir by the promises in them. An unreadable record does not prevent the others from being judged. If the
// harness failed in a scenario, run.json says so, and the record need not.
func Judge(dir string, records []string) Judgement {
	var s Judgement
	runs, problems := listings(dir)
	read, listed := make(map[string]history.Header), make(map[string]runfolder.ScenarioResult) // by the folders of records
	for _, l := range slices.Backward(runs) {
		for _, one := range slices.Backward(l.Scenarios) {
			listed[filepath.Join(l.dir, filepath.FromSlash(one.Dir))] = one // the first of them, if it is listed twice
		}
	}
	for _, record := range records {
		at := filepath.Join(dir, filepath.FromSlash(record))
		run, err := history.Open(at)
		read[at] = run.Header
		if err != nil {
			s.Problems = append(s.Problems, err)
			continue
		}
		s.judge(run, listed[at])
	}
	s.Lacks = unlisted(dir, records, read)
	for _, l := range runs {
		s.add(l, read)
	}
	s.Problems = append(s.Problems, problems...)
	return s
}

// judge adds what is found in a record. listed is what run.json says of the scenario: that the harness failed in it, or that a signal ended a step of
// `test --disturb`, need not be in the record.
func (s *Judgement) judge(run history.Run, listed runfolder.ScenarioResult) {
	one := Scenario{Result: runfolder.ScenarioResult{Name: run.Header.Scenario}}
	one.Found = judge.Record(run, &one.Result)
	if one.Result.Error != "" {
		s.Problems = append(s.Problems, errors.New(one.Result.Error))
	}
	one.Result.Error = cmp.Or(one.Result.Error, listed.Error)
	cutToo(&one.Result, listed.Interrupted)
	if one.Result.Left() {
		one.Found = judge.Found{}
	}
	if one.Caught != nil {
		s.Causes.Add(*run.Header.Mutant, *one.Caught)
	}
	s.Scenarios = append(s.Scenarios, one)
	s.Sum.Scenarios = append(s.Sum.Scenarios, one.Result)
}

// cutToo takes from run.json that a scenario was interrupted, if its record does not say so.
func cutToo(into *runfolder.ScenarioResult, interrupted string) {
	if into.Interrupted == "" {
		into.CutShort(interrupted)
	}
}
