// Package stored judges records on disk again: all records below a folder, or the record of one scenario in run.json.
//
// It opens the records and compares them with run.json. Package judge judges them.
package stored

import (
	"errors"
	"path/filepath"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge"
)

// Judgement is what was found in the records below a folder.
type Judgement struct {
	Scenarios []Scenario // those that could be read, in the order of the records
	// Sum has the results of all scenarios, as run.json does, including those without a record because the run was interrupted.
	Sum    runfolder.File
	Causes judge.Confusion // of the mutants
	// Problems are why records could not be judged: they are unreadable, missing, or of another scenario than run.json says.
	Problems []error
}

// Scenario is what was found in one record. An interrupted or unsupported scenario has no verdicts.
type Scenario struct {
	Result runfolder.ScenarioResult
	judge.Found
}

// Judge judges records below dir by the promises in them. An unreadable record does not prevent the others from being judged.
func Judge(dir string, records []string) Judgement {
	var s Judgement
	headers := make(map[string]history.Header)
	for _, record := range records {
		run, err := history.Open(filepath.Join(dir, filepath.FromSlash(record)))
		if err != nil {
			s.Problems = append(s.Problems, err)
			continue
		}
		headers[record] = run.Header
		one := Scenario{Result: runfolder.ScenarioResult{Name: run.Header.Scenario}}
		one.Found = judge.Record(run, &one.Result)
		if one.Result.Error != "" {
			s.Problems = append(s.Problems, errors.New(one.Result.Error))
		}
		if one.Result.Left() {
			one.Found = judge.Found{}
		}
		if one.Caught != nil {
			s.Causes.Add(*run.Header.Mutant, *one.Caught)
		}
		s.Scenarios = append(s.Scenarios, one)
		s.Sum.Scenarios = append(s.Sum.Scenarios, one.Result)
	}
	left, problems := missing(dir, records, headers)
	s.Sum.Scenarios, s.Sum.Interrupted = append(s.Sum.Scenarios, left.Scenarios...), left.Interrupted
	s.Problems = append(s.Problems, problems...)
	return s
}
