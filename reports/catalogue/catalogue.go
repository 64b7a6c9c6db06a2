// Package catalogue keeps what runs found about each claim of the suites, and writes a page from it: suites/README.md.
package catalogue

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/reports"
)

// Claim is what a scenario claims.
type Claim struct {
	Scenario, Claim string
}

// Update adds what runs found to the findings in the folder of page, and writes page from all findings. Each file is written
// completely or not at all. Claims are what the suites claim now. A finding about another claim is dropped, and a claim without a
// finding is listed as not tried. Findings about claims that these runs did not judge stay, because the records of runs do not live as
// long as the suites. Without runs, page is written again from the findings that there are.
func Update(page string, claims []Claim, runDirs ...string) error {
	all := make([]reports.Report, len(runDirs))
	for i, dir := range runDirs {
		var err error
		if all[i], err = reports.Build(dir); err != nil {
			return err
		}
		restrict(&all[i], claims)
	}
	data := filepath.Join(filepath.Dir(page), FindingsFile)
	before, err := readFindings(data)
	if err != nil {
		return err
	}
	f := findings{Last: before.Last, Scenarios: make(map[string]finding)}
	if len(all) > 0 {
		f = findingsOf(all, claims)
	}
	f.keep(before, claims)
	if err := reports.Replace(data, f, writeFindings); err != nil {
		return fmt.Errorf("write %s: %w", FindingsFile, err)
	}
	write := func(w io.Writer, f findings) error { return f.writePage(w, claims) }
	if err := reports.Replace(page, f, write); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(page), err)
	}
	return nil
}

// merged is what several runs found. Of a scenario in more than one run it is what the last run that judged the scenario found.
func merged(all []reports.Report) reports.Report {
	r := all[0]
	var ids []string
	r.Scenarios, r.Trouble = nil, nil
	for _, one := range all {
		ids, r.Trouble = append(ids, one.RunID), append(r.Trouble, one.Trouble...)
		for i := range one.Scenarios {
			s := one.Scenarios[i]
			switch at := slices.IndexFunc(r.Scenarios, func(before reports.Scenario) bool { return before.Name == s.Name }); {
			case at < 0:
				r.Scenarios = append(r.Scenarios, s)
			case len(s.Verdicts) > 0:
				r.Scenarios[at] = s
			}
		}
	}
	r.RunID = strings.Join(ids, ", ")
	slices.SortFunc(r.Scenarios, func(a, b reports.Scenario) int { return cmp.Compare(a.Name, b.Name) })
	return r
}

// restrict keeps the scenarios with these claims that were judged, or that the environment could not run.
func restrict(r *reports.Report, claims []Claim) {
	r.Scenarios = slices.DeleteFunc(r.Scenarios, func(s reports.Scenario) bool {
		return len(s.Verdicts) == 0 && s.Result != reports.Unsupported || !slices.Contains(claims, Claim{s.Name, s.Claim})
	})
}
