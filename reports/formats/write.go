// Package formats writes the reports of a run, in one file for each format: junit.xml for a CI server, report.json for programs,
// report.md for a job summary, and report.html for people.
//
//	if err := formats.WriteAll("artifacts/latest"); err != nil { ... }
//
// All are written from one reports.Report. report.md begins like this:
//
//	## ✅ Held: holdfast run `20260102-030405`
//
//	5 held, 6 mutants caught. Without the mutants: 0 of 62,000 requests failed over 31 disruption events.
//
//	| | scenario | requests | failed | disruptions | at most, 95 % | p99 |
//	| --- | --- | ---: | ---: | ---: | ---: | ---: |
//	| ✅ Held | **chaos/drain-one-worker**<br>draining one worker is invisible to clients | 12,000 | 0 | 1 | 0.025 % | 3.31 ms |
package formats

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/page"
)

// The names of the reports, in a run's folder.
const (
	HTMLFile     = "report.html"
	MarkdownFile = "report.md"
	JSONFile     = "report.json"
	JUnitFile    = "junit.xml"
)

// WriteAll writes all reports of a run into its folder, each completely or not at all. An error does not keep the other reports from being
// written. Call it when the run has ended in run.json; before that the run is reported as killed.
func WriteAll(runDir string) error {
	r, err := reports.Build(runDir)
	if err != nil {
		return err
	}
	return Write(runDir, r)
}

// Write writes all formats of a report, as WriteAll does.
func Write(runDir string, r reports.Report) error {
	var errs []error
	for _, f := range []struct {
		name  string
		write func(io.Writer, reports.Report) error
	}{
		{JUnitFile, writeJUnit}, {JSONFile, reports.WriteJSON}, {MarkdownFile, writeMarkdown}, {HTMLFile, page.Write},
	} {
		if err := reports.Replace(filepath.Join(runDir, f.name), r, f.write); err != nil {
			errs = append(errs, fmt.Errorf("write %s: %w", f.name, err))
		}
	}
	return errors.Join(errs...)
}
